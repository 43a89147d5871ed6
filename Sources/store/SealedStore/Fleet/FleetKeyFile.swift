// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The two files with a fleet's keys: one for keepers and, next to it, one for readers.
///
/// `FILE` opens everything. `FILE.reader` is derived from it and opens no refresh token. Both have mode 0600,
/// and links are not followed. After ``renew(_:_:keeping:files:)``, both also contain the previous epoch. A
/// host that was away, or already has its new file, can thus open the values in etcd. A host with the old
/// file cannot open values that others seal from then on, which is the purpose.
package enum FleetKeyFile {
    /// The suffix of the readers' file, appended to the name of the keepers' file.
    package static let readersSuffix = ".reader"

    /// Creates the keys of a new fleet in two files, which must not exist.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the keepers' file.
    ///   - label: the fleet's name: 1 to 64 visible ASCII characters.
    ///   - files: the file operations.
    /// - Returns: the keepers' keys.
    /// - Throws: ``FleetKeyError``; then no new file is left.
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

    /// A change of the fleet's key.
    package enum KeyRotationStep: Equatable, Sendable {
        /// A new key replaces the current one.
        case replace
        /// A new key is added, to be used once all hosts have it.
        case stage
        /// The staged key replaces the current one.
        case activate
    }

    /// Puts a new epoch into both files, or activates the staged one.
    ///
    /// The keepers' file is replaced first: after a crash between the two, repeating the call is sufficient.
    /// Next to it, only the readers' file of the same fleet is replaced.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the keepers' file.
    ///   - step: decides under which epoch values are sealed from then on.
    ///   - keeping: the number of older epochs to keep, at most 3.
    ///   - files: the file operations.
    /// - Returns: the keepers' keys.
    /// - Throws: ``FleetKeyError``.
    @discardableResult
    package static func rotate(
        _ path: String,
        _ step: KeyRotationStep = .replace,
        keeping: Int = 1,
        files: any FileOperations = SystemFileOperations()
    ) throws(FleetKeyError) -> FleetKeys {
        // If two processes renew one file, the second must renew the result of the first: otherwise two keys
        // would have the same epoch.
        let turn = try changing { () throws(StoreFileError) in
            try ExternalKeyFile.lockParent(of: path, files: files)
        }
        defer { withExtendedLifetime(turn) {} }
        let former = try read(path, as: .keeper, files: files)
        try checkReadersFile(of: former, at: path + readersSuffix, files)
        let keys =
            switch step {
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

    /// Throws if something other than the readers' file of the same fleet would be replaced; the file may be
    /// missing.
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

    /// Reads the key file of a host with `role`.
    ///
    /// - Throws: ``FleetKeyError``.
    package static func read(
        _ path: String,
        as role: FleetRole,
        files: any FileOperations = SystemFileOperations()
    ) throws(FleetKeyError) -> FleetKeys {
        let text: GuardedBytes
        do throws(StoreFileError) {
            text = try ExternalKeyFile.inSandbox(path) { () throws(StoreFileError) in
                try ExternalKeyFile.read(path, sizes: 1...FleetKeyText.maximumCount, files: files)
            }
        } catch {
            throw .file(error)
        }
        return try keys(in: text, as: role)
    }

    /// Reads keys from the output of a command or the content of a credential.
    ///
    /// - Throws: ``FleetKeyError``.
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
