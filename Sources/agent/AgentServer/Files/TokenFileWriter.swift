// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import Synchronization
import Text
import TokenCore

/// Writes and removes token files; used by one thread at a time, in order.
final class TokenFileWriter: Sendable {
    private let memory: SealedMemory
    private let ledger: TokenFileLedger
    /// The identity of the file last written to each path.
    private let written = Mutex<[ByteText: TokenFileLocation.DeviceAndInode]>([:])

    init(memory: SealedMemory, ledger: TokenFileLedger) {
        self.memory = memory
        self.ledger = ledger
    }

    /// Replaces the file at `path` atomically.
    ///
    /// - Returns: The error if the file was not replaced, otherwise `nil`.
    func write(_ token: SecretID, in content: TokenFileTemplate, to path: String) -> TokenFileError? {
        do throws(TokenFileError) {
            let place = try TokenFileLocation(path)
            var bytes = try text(of: token, in: content)
            defer { bytes.wipe() }
            let identity = try place.replace(with: bytes) { identity throws(TokenFileError) in
                try ledger.add(path, TokenFileFingerprint(identity, holding: bytes))
            }
            written.withLock { $0[path.bytewise] = identity }
            return nil
        } catch {
            return error
        }
    }

    /// Removes the file at `path` if the agent wrote it.
    ///
    /// - Returns: The error if the file remains, otherwise `nil`.
    func remove(_ path: String) -> TokenFileError? {
        let identity = written.withLock { $0[path.bytewise] }
        guard let identity else { return nil }
        do throws(TokenFileError) {
            try TokenFileLocation(removing: path).remove(identity)
        } catch {
            // Without its directory, the file does not exist either.
            guard case .noDirectory = error else { return error }
        }
        written.withLock { $0[path.bytewise] = nil }
        ledger.remove(path)
        return nil
    }

    /// Checks that a file can be written to `path`.
    ///
    /// - Returns: The error that prevents it, or `nil`.
    func probe(_ path: String) -> TokenFileError? {
        do throws(TokenFileError) {
            try TokenFileLocation(path).probe()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the content of the file; the caller must wipe it.
    private func text(of token: SecretID, in content: TokenFileTemplate) throws(TokenFileError) -> [UInt8] {
        var text: [UInt8] = []
        var fits = false
        do {
            try unsafe memory.open(token) { token in
                fits = unsafe content.fits(token)
                // Reserved in one step, so that growing the array leaves no copy of the token behind.
                text.reserveCapacity(content.before.count + token.count + content.after.count)
                text += content.before
                unsafe text.append(contentsOf: token)
                text += content.after
            }
        } catch {
            throw .failed("cannot open the token")
        }
        guard fits else {
            text.wipe()
            throw .failed("the token has characters that this format cannot contain")
        }
        return text
    }
}
