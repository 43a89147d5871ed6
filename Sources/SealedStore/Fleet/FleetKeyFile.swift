// SPDX-License-Identifier: MIT

import TokenCore

/// The two files with a fleet's keys: the keepers' and, beside it, the readers'.
///
/// `FILE` opens everything; `FILE.reader` follows from it and opens no refresh token. Both are 0600, and a link is never
/// followed. After ``renew(_:keeping:files:)`` both hold the epoch before the new one too, so that a host that was away, or has
/// its new file already, can open what is in etcd. A host with the old file cannot open what the others seal from then on,
/// which is the point of it.
package enum FleetKeyFile {
    /// What the readers' file is called, after the name of the keepers'.
    package static let readersSuffix = ".reader"

    /// Makes the keys of a new fleet, in two files that must not exist.
    ///
    /// - Parameters:
    ///   - path: absolute path of the keepers' file.
    ///   - label: what people call the fleet: 1 to 64 visible ASCII characters.
    ///   - files: how files are opened and written.
    /// - Returns: the keepers' keys.
    /// - Throws: ``FleetKeyError``; no new file is left then.
    @discardableResult
    package static func create(
        _ path: String,
        label: String,
        files: any FileOperations = SystemFileOperations()
    ) throws(FleetKeyError) -> FleetKeys {
        let keys = try FleetKeys.random(label: label)
        let keepers = try FleetKeyText.text(of: keys, for: .keeper)
        let readers = try FleetKeyText.text(of: keys, for: .reader)
        try changing { () throws(StoreFileError) in
            try ExternalKeyFile.create(path, keepers, files: files)
            do throws(StoreFileError) {
                try ExternalKeyFile.create(path + readersSuffix, readers, files: files)
            } catch {
                ExternalKeyFile.remove(path, files: files)
                throw error
            }
        }
        return keys
    }

    /// What becomes of the key that a fleet has.
    package enum Renewal: Equatable, Sendable {
        /// A new one takes its place.
        case replace
        /// A new one is there as well, for when all hosts have it.
        case stage
        /// The one that was staged takes its place.
        case activate
    }

    /// Puts a new epoch into both files, or the staged one in front.
    ///
    /// The keepers' file is replaced first: after a crash between the two, doing it again is enough. Nothing but the readers'
    /// file of the same fleet is replaced beside it.
    /// - Parameters:
    ///   - path: absolute path of the keepers' file.
    ///   - renewal: which epoch values are sealed under from then on.
    ///   - keeping: how many older epochs stay, at most 3.
    ///   - files: how files are opened and written.
    /// - Returns: the keepers' keys.
    /// - Throws: ``FleetKeyError``.
    @discardableResult
    package static func renew(
        _ path: String,
        _ renewal: Renewal = .replace,
        keeping: Int = 1,
        files: any FileOperations = SystemFileOperations()
    ) throws(FleetKeyError) -> FleetKeys {
        // Of those who renew one file at once, the second renews what the first has made: else two keys have one number.
        let turn = try changing { () throws(StoreFileError) in
            try ExternalKeyFile.lockParent(of: path, files: files)
        }
        defer { withExtendedLifetime(turn) {} }
        let former = try read(path, as: .keeper, files: files)
        try checkReadersFile(of: former, at: path + readersSuffix, files)
        let keys =
            switch renewal {
            case .replace: try former.renewed(keeping: keeping)
            case .stage: try former.staged(keeping: keeping)
            case .activate: try former.activated()
            }
        let keepers = try FleetKeyText.text(of: keys, for: .keeper)
        let readers = try FleetKeyText.text(of: keys, for: .reader)
        try changing { () throws(StoreFileError) in
            try ExternalKeyFile.replace([(path, keepers), (path + readersSuffix, readers)], files: files)
        }
        return keys
    }

    /// Refuses to replace what is not the readers' file of these keys' fleet; there may be none.
    private static func checkReadersFile(
        of keys: FleetKeys,
        at path: String,
        _ files: any FileOperations
    ) throws(FleetKeyError) {
        let readers: FleetKeys
        do throws(FleetKeyError) {
            readers = try read(path, as: .reader, files: files)
        } catch {
            switch error {
            case .file(.missing): return
            case .outOfMemory: throw error
            case .keepersKey: throw .otherReadersFile("is a keepers' key")
            default: throw .otherReadersFile(error.sentence)
            }
        }
        guard readers.fleet == keys.fleet else { throw .otherReadersFile("is of another fleet") }
    }

    /// Reads the file that a host of `role` was given.
    package static func read(
        _ path: String,
        as role: FleetRole,
        files: any FileOperations = SystemFileOperations()
    ) throws(FleetKeyError) -> FleetKeys {
        let text: GuardedBytes
        do throws(StoreFileError) {
            text = try ExternalKeyFile.advising("restart it", path) { () throws(StoreFileError) in
                try ExternalKeyFile.read(path, sizes: 1...FleetKeyText.maximumCount, files: files)
            }
        } catch {
            throw .file(error)
        }
        return try keys(in: text, as: role)
    }

    /// Reads what a command printed, or a credential holds.
    package static func keys(in text: GuardedBytes, as role: FleetRole) throws(FleetKeyError) -> FleetKeys {
        try FleetKeyText.keys(in: text, for: role)
    }

    private static func changing<Result>(
        _ body: () throws(StoreFileError) -> Result
    ) throws(FleetKeyError) -> Result {
        do throws(StoreFileError) {
            return try body()
        } catch {
            throw .file(error)
        }
    }
}
