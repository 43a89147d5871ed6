// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The files that a sandboxed process may still open (Landlock).
///
/// The kernel denies all others, whatever their mode. Files that are already open stay usable. Reading a
/// file's attributes and the target of a link remains allowed.
package struct FileRules: Equatable, Sendable {
    /// Paths that may be read, including everything below them.
    ///
    /// Paths that do not exist when the rules take effect are left out.
    package var readable: [String]
    /// Paths that may be read, written, created and removed, including everything below them.
    package var writable: [String]
    /// Directories in which sockets and lock files may be created and removed, but no file read.
    package var socketDirectories: [String]
    /// Directories in which files may be created, replaced and removed, but not read.
    package var fileDirectories: [String]
    /// Whether the process may connect to abstract sockets of processes outside the sandbox.
    package var reachesAbstractSockets: Bool

    package init(
        readable: [String],
        writable: [String],
        socketDirectories: [String] = [],
        fileDirectories: [String] = [],
        reachesAbstractSockets: Bool = false
    ) {
        self.readable = readable
        self.writable = writable
        self.socketDirectories = socketDirectories
        self.fileDirectories = fileDirectories
        self.reachesAbstractSockets = reachesAbstractSockets
    }

    func enforce() throws(ConfinementGap) {
        let version = hardening_landlock_version()
        guard version > 0 else { throw .files }
        let known = FileRights.known(to: version)
        let ruleset = hardening_landlock_begin(known.rawValue, scopes(version))
        guard ruleset >= 0 else { throw .files }
        defer { close(ruleset) }
        for path in readable { try allow(.reading, .listing, at: path, known, ruleset) }
        for path in writable { try allow(.changing, .arranging, at: path, known, ruleset) }
        for path in socketDirectories { try allow([], .holdingSockets, at: path, known, ruleset) }
        for path in fileDirectories { try allow([], .holdingFiles, at: path, known, ruleset) }
        guard hardening_landlock_enforce(ruleset) == 0 else { throw .files }
    }

    private func allow(
        _ rights: FileRights,
        _ directoryRights: FileRights,
        at path: String,
        _ known: FileRights,
        _ ruleset: Int32
    ) throws(ConfinementGap) {
        let rights = rights.intersection(known).rawValue
        let directoryRights = directoryRights.intersection(known).rawValue
        let result = unsafe hardening_landlock_allow(ruleset, path, rights, directoryRights)
        // A path that does not exist, or that this user cannot see, needs no rule.
        guard result == 0 || [ENOENT, ENOTDIR, EACCES, ELOOP].contains(errno) else { throw .files }
    }

    /// Returns the scopes to enforce, which exist since version 6 of Landlock.
    ///
    /// They keep signals inside the process and, unless ``reachesAbstractSockets``, abstract sockets too.
    private func scopes(_ version: Int32) -> UInt64 {
        guard version >= 6 else { return 0 }
        let abstractSockets: UInt64 = 1
        let signals: UInt64 = 2
        return reachesAbstractSockets ? signals : signals | abstractSockets
    }
}

/// File access rights, with the bits of Landlock (`LANDLOCK_ACCESS_FS_…`).
private struct FileRights: OptionSet {
    let rawValue: UInt64

    static let execute = FileRights(rawValue: 1 << 0)
    static let write = FileRights(rawValue: 1 << 1)
    static let reading = FileRights(rawValue: 1 << 2)
    static let listing = FileRights(rawValue: 1 << 3)
    static let remove: FileRights = [FileRights(rawValue: 1 << 4), .removeFile]
    static let removeFile = FileRights(rawValue: 1 << 5)
    static let makeDevice = FileRights(rawValue: 1 << 6 | 1 << 11)
    static let makeDirectory = FileRights(rawValue: 1 << 7)
    static let makeFile = FileRights(rawValue: 1 << 8)
    static let makeSocket = FileRights(rawValue: 1 << 9)
    static let makePipeOrLink = FileRights(rawValue: 1 << 10 | 1 << 12)
    static let refer = FileRights(rawValue: 1 << 13)
    static let truncate = FileRights(rawValue: 1 << 14)
    static let controlDevice = FileRights(rawValue: 1 << 15)

    static let changing: FileRights = [.reading, .write, .truncate]
    /// The rights for a directory of sockets, which also holds lock files opened for writing.
    static let holdingSockets: FileRights = [.makeSocket, .makeFile, .write, .remove]
    static let holdingFiles: FileRights = [.makeFile, .write, .removeFile]
    static let arranging: FileRights = [.listing, .remove, .makeDirectory, .makeFile, .makeSocket, .refer]

    /// Returns every right that this version of Landlock can deny.
    static func known(to version: Int32) -> FileRights {
        var rights: FileRights = [
            .execute, .write, .reading, .listing, .remove, .makeDevice, .makeDirectory, .makeFile,
            .makeSocket, .makePipeOrLink,
        ]
        if version >= 2 { rights.insert(.refer) }
        if version >= 3 { rights.insert(.truncate) }
        if version >= 5 { rights.insert(.controlDevice) }
        return rights
    }
}

extension ConfinementGap {
    /// The failure to enforce file rules, with the message for `errno`.
    fileprivate static var files: ConfinementGap {
        ConfinementGap(protection: .files, reason: unsafe String(cString: strerror(errno)))
    }
}
