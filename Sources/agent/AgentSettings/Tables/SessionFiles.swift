// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// The files of `sessions.d` next to the configuration file, each of which holds one session.
///
/// They are read only if nobody else can have written them: a session decides where secrets are sent and
/// which commands run.
struct SessionFiles {
    /// A file with the content of a session.
    struct File {
        let name: SessionName
        let path: String
        var text: [UInt8]
    }

    static let directory = "sessions.d"
    /// The suffix of session files; other files are ignored.
    static let suffix = ".toml"
    /// The maximum number of files read: ten times the largest number of sessions seen in practice.
    static let maximumFiles = 1000
    /// The maximum size of a file in bytes: a hundred times what a session needs.
    static let maximumSize = 64 << 10

    /// The files in the order of their names.
    private(set) var files: [File] = []
    /// The errors of files, or of a directory, that were not read.
    private(set) var mistakes: [ConfigurationProblem] = []
    /// The sessions whose file exists but was not read.
    private(set) var unread: Set<SessionName> = []
    /// Whether all files are known: the directory was read, or does not exist.
    private(set) var areAllKnown = true

    /// Creates an empty set of files.
    init() {}

    /// Reads the files of `sessions.d` next to the configuration file at `path`, and those in the directory
    /// `drafts`.
    init(beside path: String, drafts: String? = nil) {
        for place in [SessionFiles.directory(beside: path), drafts].compactMap(\.self) { read(place) }
    }

    private mutating func read(_ place: String) {
        do throws(ConfigurationFileError) {
            let directory = try SessionDirectory(place)
            let names = try directory.names()
            for name in names.prefix(SessionFiles.maximumFiles) { read(name, in: directory) }
            guard names.count > SessionFiles.maximumFiles else { return }
            let most = SessionFiles.maximumFiles
            refuse(
                place,
                "contains \(names.count) files, of which only the first \(most) by name are read"
            )
        } catch {
            guard !error.isAbsent else { return }
            refuse(place, error.message)
        }
    }

    /// Returns the path of `sessions.d` next to the configuration file at `path`.
    static func directory(beside path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (end.map { path[...$0] } ?? "") + directory
    }

    /// Overwrites the texts with zeros: they may contain client secrets.
    mutating func wipe() {
        for index in files.indices { files[index].text.wipe() }
    }

    /// Records that some files of `directory` are unknown.
    private mutating func refuse(_ directory: String, _ message: String) {
        areAllKnown = false
        mistakes.append(ConfigurationProblem(file: directory, message: message))
    }

    private mutating func read(_ file: String, in directory: borrowing SessionDirectory) {
        let path = "\(directory.path)/\(ServerText.cleaned(file))"
        guard let name = SessionName(file.dropLast(SessionFiles.suffix.count)) else {
            let message = "must be named SESSION.toml, with letters, digits, '.', '_' or '-' in SESSION"
            return mistakes.append(ConfigurationProblem(file: path, message: message))
        }
        do throws(ConfigurationFileError) {
            files.append(File(name: name, path: path, text: try directory.contents(of: file)))
        } catch {
            unread.insert(name)
            mistakes.append(ConfigurationProblem(file: path, message: error.message, session: name))
        }
    }
}

/// An open `sessions.d` that belongs to this user alone.
struct SessionDirectory: ~Copyable {
    /// The maximum number of files; a directory with more is rejected as a mistake.
    private static let maximumNames = 10_000

    let path: String
    private let descriptor: Int32

    /// Opens the directory at `path`.
    ///
    /// - Throws: ``ConfigurationFileError``, also if another user could have created files in it.
    init(_ path: String) throws(ConfigurationFileError) {
        let opened = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else {
            let reason = errno
            guard SessionDirectory.isOther(path, than: S_IFDIR) else {
                throw ConfigurationFileError(opening: path, reason)
            }
            throw ConfigurationFileError(message: "must be a directory, not a link or a file")
        }
        var status = stat()
        let refusal =
            unsafe fstat(opened, &status) == 0
            ? ConfigurationFileError.objection(to: status.st_uid, status.st_mode, of: path, allowsRoot: false)
            : ConfigurationFileError.unreadable(errno)
        if let refusal {
            close(opened)
            throw refusal
        }
        self.path = path
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Returns the names that end in ``SessionFiles/suffix``, sorted.
    ///
    /// Hidden files are left out: they are drafts of editors.
    borrowing func names() throws(ConfigurationFileError) -> [String] {
        let names: [String]
        do throws(DirectoryListing.Failure) {
            names = try DirectoryListing.names(in: descriptor, atMost: SessionDirectory.maximumNames)
        } catch {
            throw ConfigurationFileError(listing: path, error)
        }
        return names.filter { !$0.hasPrefix(".") && $0.bytewise.hasSuffix(SessionFiles.suffix.bytewise) }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Returns the text of a file that only this user can write and read.
    borrowing func contents(of name: String) throws(ConfigurationFileError) -> [UInt8] {
        guard !SessionDirectory.isOther(name, than: S_IFREG, in: descriptor) else {
            throw ConfigurationFileError(message: "must be a regular file, not a link or a directory")
        }
        let file = try OpenConfigurationFile(name, in: descriptor, flags: O_NOFOLLOW)
        let objection = ConfigurationFileError.objection(
            to: file.owner,
            file.mode,
            of: "\(path)/\(name)",
            allowsRoot: false,
            isSecret: true
        )
        if let objection { throw objection }
        guard file.size <= SessionFiles.maximumSize else {
            throw ConfigurationFileError(message: "is larger than 64 KiB")
        }
        return try file.contents()
    }

    /// Returns whether something other than a `kind` of file exists at `name`; links are not followed.
    private static func isOther(_ name: String, than kind: mode_t, in directory: Int32 = AT_FDCWD) -> Bool {
        var status = stat()
        return unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT != kind
    }
}
