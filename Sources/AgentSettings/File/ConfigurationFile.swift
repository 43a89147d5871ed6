// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The configuration file: where it is, and whether it has to exist.
package struct ConfigurationFile: Equatable, Sendable {
    /// Larger files are refused unread.
    package static let largestSize = 4 << 20

    package let path: String
    /// Whether a person named the file; the default one need not exist.
    package let mustExist: Bool
    /// What no table may replace; `nil`: anything may be.
    private let reservedPaths: ReservedPaths?

    /// Where the files with a session each are.
    package var sessionDirectory: String { SessionFiles.directory(beside: path) }

    package init(path: String, mustExist: Bool, reservedPaths: ReservedPaths? = nil) {
        self.path = path
        self.mustExist = mustExist
        self.reservedPaths = reservedPaths
    }

    /// Reads and checks the file, and those of ``SessionFiles/directory`` beside it.
    ///
    /// Others may read it unless it holds a client secret, and may never write it: a writer decides where
    /// refresh tokens are sent.
    ///
    /// - Parameters:
    ///   - home: what `~/` stands for.
    ///   - drafts: a directory of further files, to be checked before they are in place.
    /// - Returns: the settings; the defaults when there is no file and there need not be one.
    /// - Throws: everything there is to fix.
    package func settings(home: String?, drafts: String? = nil) throws(ConfigurationProblems) -> Settings {
        var files = SessionFiles(beside: path, drafts: drafts)
        defer { files.wipe() }
        var text: [UInt8] = []
        defer { text.wipe() }
        var isOpenToOthers = false
        do throws(ConfigurationFileError) {
            let file = try OpenedFile(path)
            try check(file)
            text = try file.contents()
            isOpenToOthers = file.mode & 0o077 != 0
        } catch {
            guard error.isAbsent, !mustExist else { throw problem(error.message) }
        }
        let settings = try SettingsReader(home: home, reservedPaths: reservedPaths)
            .read(text, file: path, beside: files)
        if isOpenToOthers, settings.holdsLiteralSecret {
            throw problem(
                "holds a client_secret but others may read it: chmod 600, or use client_secret_command"
            )
        }
        return settings
    }

    private func check(_ file: borrowing OpenedFile) throws(ConfigurationFileError) {
        guard file.owner == getuid() || file.owner == 0 else {
            throw ConfigurationFileError(
                message: "belongs to another user (uid \(file.owner)): chown it to yourself"
            )
        }
        guard file.mode & 0o022 == 0 else {
            throw ConfigurationFileError(message: "may be written by others: chmod go-w")
        }
        guard file.size <= ConfigurationFile.largestSize else {
            throw ConfigurationFileError(message: "is larger than 4 MiB")
        }
    }

    private func problem(_ message: String) -> ConfigurationProblems {
        ConfigurationProblems(file: path, problems: [ConfigurationProblem(message: message)])
    }
}

extension Settings {
    /// Whether the configuration file itself holds a client secret; those beside it are private anyway.
    fileprivate var holdsLiteralSecret: Bool {
        sessions.contains { $0.holdsLiteralSecret && places[$0.name]?.file == nil }
    }
}

extension ConfiguredSession {
    /// Whether the client secret is written in the file itself.
    package var holdsLiteralSecret: Bool {
        client.literalSecret != nil
    }
}
