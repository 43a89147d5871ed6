// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import Synchronization
import SystemCalls
import Text

/// The provider files: the user's own in `providers.d`, then those that are installed with the agent.
///
/// A file is read when a session names it, and again by the next reader of the configuration. Safe to call from any
/// thread.
package final class ProviderCatalogue: Sendable {
    /// The directory of the user's own files, next to the configuration file.
    package static let ownDirectory = "providers.d"
    private static let suffix = ".toml"
    /// The maximum size of a file in bytes: ten times what a provider needs.
    private static let maximumSize = 64 << 10
    /// The maximum number of files in a directory: a hundred times the number of installed ones.
    private static let maximumFiles = 10_000

    /// The directories, the first of which that has a file wins.
    package let directories: [String]
    private let known = Mutex<[String: Result<ProviderFile?, ConfigurationProblems>]>([:])

    /// Creates the catalogue of `directories`, by default of the installed files.
    package init(directories: [String] = [installedDirectory].compactMap(\.self)) {
        self.directories = directories
    }

    /// Creates the catalogue for the configuration file at `path`.
    package convenience init(beside path: String) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let own = String(end.map { path[...$0] } ?? "") + ProviderCatalogue.ownDirectory
        self.init(directories: [own, ProviderCatalogue.installedDirectory].compactMap(\.self))
    }

    /// The directory of the installed files, or `nil` if there is none.
    ///
    /// Programs are in `bin` or `libexec/tokenagent`, next to `share/tokenagent/providers`. Those of a build are in
    /// `.build`, three levels below the source tree.
    package static let installedDirectory: String? = {
        guard let path = unsafe realpath("/proc/self/exe", nil) else { return nil }
        defer { unsafe free(path) }
        let parts = unsafe String(cString: path).bytewise.split(on: "/").dropLast()
        func place(_ directories: some Sequence<Substring>, _ end: String) -> String {
            "/" + directories.map { $0 + "/" }.joined() + end
        }
        let tree = parts.lastIndex(of: ".build").map { place(parts[..<$0], "packaging/providers") }
        let installed = (1...2).map { place(parts.dropLast($0), "share/tokenagent/providers") }
        let candidates = [tree].compactMap(\.self) + installed
        return candidates.first { unsafe access($0, R_OK | X_OK) == 0 }
    }()

    /// Returns the file of the provider `name`, or `nil` if there is none.
    ///
    /// - Throws: ``ConfigurationProblems`` if the file cannot be used.
    package func file(named name: String) throws(ConfigurationProblems) -> ProviderFile? {
        let found = known.withLock { known in
            if let found = known[name] { return found }
            let found = Result { () throws(ConfigurationProblems) in try read(name) }
            known[name] = found
            return found
        }
        return try found.get()
    }

    /// The names of all providers, sorted.
    package var names: [String] { listing.names }

    /// The names of all providers, sorted, and the errors of directories that cannot be read.
    package var listing: (names: [String], problems: [ConfigurationProblem]) {
        var names: Set<String> = []
        var problems: [ConfigurationProblem] = []
        for directory in directories {
            let files: [String]
            do throws(DirectoryListing.Failure) {
                files = try DirectoryListing.names(at: directory, atMost: ProviderCatalogue.maximumFiles)
            } catch {
                let error = ConfigurationFileError(listing: directory, error)
                if !error.isAbsent {
                    problems.append(ConfigurationProblem(file: directory, message: error.message))
                }
                continue
            }
            for file in files where file.hasSuffix(ProviderCatalogue.suffix) {
                let name = String(file.dropLast(ProviderCatalogue.suffix.count))
                if ProviderCatalogue.isName(name) { names.insert(name) }
            }
        }
        return (names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, problems)
    }

    private func read(_ name: String) throws(ConfigurationProblems) -> ProviderFile? {
        guard ProviderCatalogue.isName(name) else { return nil }
        for directory in directories {
            let path = "\(directory)/\(name)\(ProviderCatalogue.suffix)"
            guard unsafe access(path, F_OK) == 0 || errno != ENOENT else { continue }
            let text: [UInt8]
            do throws(ConfigurationFileError) {
                text = try ProviderCatalogue.contents(of: path, in: directory)
            } catch {
                let problem = ConfigurationProblem(message: error.message)
                throw ConfigurationProblems(file: path, problems: [problem])
            }
            return try ProviderFile(name, parsing: text, at: path)
        }
        return nil
    }

    /// Returns the text of a file that only this user or root can have written, in such a directory.
    ///
    /// A provider file decides where secrets are sent, as a session does.
    private static func contents(
        of path: String,
        in directory: String
    ) throws(ConfigurationFileError) -> [UInt8] {
        var status = stat()
        guard unsafe stat(directory, &status) == 0 else { throw .unreadable(errno) }
        let file = try OpenConfigurationFile(path)
        let objection =
            ConfigurationFileError.objection(to: file.owner, file.mode, of: path, allowsRoot: true)
            ?? .objection(
                to: status.st_uid,
                status.st_mode,
                of: directory,
                as: "its directory ",
                allowsRoot: true
            )
        if let objection { throw objection }
        guard file.size <= maximumSize else {
            throw ConfigurationFileError(message: "is larger than 64 KiB")
        }
        return try file.contents()
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                byte.isASCIIDigit || byte == UInt8(ascii: "-")
                    || (byte.isASCIILetter && byte == byte.lowercasedASCII)
            }
    }
}
