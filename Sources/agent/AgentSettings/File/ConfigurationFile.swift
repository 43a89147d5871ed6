// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import Text

/// The configuration file: its path, and whether it must exist.
///
/// - Entry points: ``settings(home:drafts:)``, which reads this file and those in `sessions.d` into
///   ``Settings``. ``StartOptions`` reads the command line, ``ReservedPaths`` protects the agent's own files.
/// - May not: run commands or write files.
package struct ConfigurationFile: Equatable, Sendable {
    /// The maximum size in bytes; larger files are rejected without being read.
    package static let maximumSize = OpenConfigurationFile.maximumSize

    package let path: String
    /// Whether the user named the file; the default file need not exist.
    package let mustExist: Bool
    /// The paths that no table may use, or `nil` if all are allowed.
    private let reservedPaths: ReservedPaths?

    /// The directory of the files that each hold one session.
    package var sessionDirectory: String { SessionFiles.directory(beside: path) }

    package init(path: String, mustExist: Bool, reservedPaths: ReservedPaths? = nil) {
        self.path = path
        self.mustExist = mustExist
        self.reservedPaths = reservedPaths
    }

    /// Reads and checks the file and those in ``SessionFiles/directory``.
    ///
    /// Others may read the file unless it contains a client secret. Nobody else may write it: a writer
    /// decides where refresh tokens are sent.
    ///
    /// - Parameters:
    ///   - home: the home directory, for `~/`.
    ///   - drafts: a directory of further session files, to be checked before they are in place.
    /// - Returns: the settings, or the defaults if the file does not exist and need not.
    /// - Throws: ``ConfigurationProblems`` with everything to fix.
    package func settings(home: String?, drafts: String? = nil) throws(ConfigurationProblems) -> Settings {
        var files = SessionFiles(beside: path, drafts: drafts)
        defer { files.wipe() }
        var text: [UInt8] = []
        defer { text.wipe() }
        var isOpenToOthers = false
        do throws(ConfigurationFileError) {
            let file = try OpenConfigurationFile(path)
            try check(file)
            text = try file.contents()
            isOpenToOthers = file.mode & 0o077 != 0
        } catch {
            guard error.isAbsent, !mustExist else { throw problem(error.message) }
        }
        let settings = try SettingsReader(
            home: home,
            reservedPaths: reservedPaths,
            providers: ProviderCatalogue(beside: path)
        )
        .read(text, file: path, beside: files)
        if isOpenToOthers, settings.holdsLiteralSecret {
            let error = ConfigurationFileError(
                "contains client_secret and must not be accessible to group or others",
                .run("chmod 600 \(ShellSyntax.sh.quoted(path))")
            )
            throw problem(error.message)
        }
        return settings
    }

    private func check(_ file: borrowing OpenConfigurationFile) throws(ConfigurationFileError) {
        let objection = ConfigurationFileError.objection(
            to: file.owner,
            file.mode,
            of: path,
            allowsRoot: true
        )
        if let objection { throw objection }
        guard file.size <= ConfigurationFile.maximumSize else {
            throw ConfigurationFileError(message: "is larger than 4 MiB")
        }
    }

    private func problem(_ message: String) -> ConfigurationProblems {
        ConfigurationProblems(file: path, problems: [ConfigurationProblem(message: message)])
    }
}

extension Settings {
    /// Whether the configuration file itself contains a client secret; the files in `sessions.d` are private
    /// anyway.
    fileprivate var holdsLiteralSecret: Bool {
        sessions.contains { $0.holdsLiteralSecret && places[$0.name]?.file == nil }
    }
}

extension ConfiguredSession {
    /// Whether the client secret is written in the configuration.
    package var holdsLiteralSecret: Bool {
        client.literalSecret != nil
    }
}
