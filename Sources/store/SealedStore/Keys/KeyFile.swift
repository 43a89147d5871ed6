// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import SystemCalls

/// A file of random bytes that opens the vault without a user.
enum KeyFile {
    /// The name of the key file in the state directory.
    static let defaultName = "keyfile"
    static let minimumCount = 32
    /// The maximum size in bytes: a longer file is a mistake, not a key.
    static let maximumCount = 8192

    /// Reads the key file at the absolute `path`, or the default one in `directory`.
    static func read(_ path: String?, in directory: OpenDirectory) throws(StoreError) -> GuardedBytes {
        let shown = path ?? directory.path(of: defaultName)
        do throws(StoreFileError) {
            let sizes = minimumCount...maximumCount
            guard let path else {
                return try ExternalKeyFile.contents(of: try directory.open(defaultName), sizes: sizes)
            }
            return try ExternalKeyFile.inSandbox(path) { () throws(StoreFileError) in
                try ExternalKeyFile.read(path, sizes: sizes, files: directory.files)
            }
        } catch {
            if error == .missing { throw .keyFileMissing(path: shown) }
            if error == .sandboxed { throw .keyFileSandboxed(path: shown) }
            throw .keyFileUnusable(path: shown, reason: error.description)
        }
    }

    /// Reads the key file, after creating one of 32 random bytes if there is none.
    static func readOrCreate(_ path: String?, in directory: OpenDirectory) throws(StoreError) -> GuardedBytes
    {
        do throws(StoreError) {
            return try read(path, in: directory)
        } catch {
            if case .keyFileSandboxed(let shown) = error { throw sandboxed(shown, directory) }
            guard case .keyFileMissing(let shown) = error else { throw error }
            do throws(StoreFileError) {
                try create(path, in: directory)
            } catch {
                if case .system(let cause) = error {
                    throw cause.code == ENOMEM
                        ? .outOfMemory : .unavailable(path: shown, reason: cause.reason)
                }
                if error == .sandboxed { throw sandboxed(shown, directory) }
                throw .keyFileUnusable(path: shown, reason: error.description)
            }
        }
        return try read(path, in: directory)
    }

    private static func sandboxed(_ path: String, _ directory: OpenDirectory) -> StoreError {
        .newKeyFileSandboxed(path: path, directory: directory.path)
    }

    private static func create(_ path: String?, in directory: OpenDirectory) throws(StoreFileError) {
        let secret: GuardedBytes
        do throws(SealedMemoryError) {
            secret = try GuardedBytes(count: minimumCount)
        } catch {
            throw .system(SystemCallError(call: "mmap", code: ENOMEM))
        }
        secret.randomize()
        guard let path else {
            let file = try directory.create(defaultName)
            do throws(StoreFileError) {
                try ExternalKeyFile.write(secret, to: file)
            } catch {
                // Otherwise the next start would find a partial key, which opens nothing and is not replaced.
                try? directory.unlink(defaultName)
                throw error
            }
            return try directory.synchronize()
        }
        try ExternalKeyFile.inSandbox(path, creating: true) { () throws(StoreFileError) in
            try ExternalKeyFile.create(path, secret, files: directory.files)
        }
    }
}
