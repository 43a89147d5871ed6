// SPDX-License-Identifier: MIT

import Glibc
import SealedStore
import Synchronization
import Text
import TokenCore

/// Puts tokens into their files and removes them; called on one thread alone, in order.
final class TokenFileWriter: Sendable {
    private let memory: SealedMemory
    private let ledger: TokenFileLedger
    /// The file that was put at each path.
    private let written = Mutex<[ByteText: TokenFileLocation.Identity]>([:])

    init(memory: SealedMemory, ledger: TokenFileLedger) {
        self.memory = memory
        self.ledger = ledger
    }

    /// Replaces the file at `path` in one step.
    ///
    /// - Returns: why it is not there, or still the one before.
    func write(_ token: SecretID, in content: TokenFileContent, to path: String) -> TokenFileError? {
        do throws(TokenFileError) {
            let place = try TokenFileLocation(path)
            var bytes = try text(of: token, in: content)
            defer { bytes.wipe() }
            let identity = try place.replace(with: bytes) { identity throws(TokenFileError) in
                try ledger.add(path, TokenFileMark(identity, holding: bytes))
            }
            written.withLock { $0[path.bytewise] = identity }
            return nil
        } catch {
            return error
        }
    }

    /// Removes the file at `path`, if it is the one that was put there.
    ///
    /// - Returns: why it is still there.
    func remove(_ path: String) -> TokenFileError? {
        let identity = written.withLock { $0[path.bytewise] }
        guard let identity else { return nil }
        do throws(TokenFileError) {
            try TokenFileLocation(removing: path).remove(identity)
        } catch {
            // Without its directory the file is gone too.
            guard case .noDirectory = error else { return error }
        }
        written.withLock { $0[path.bytewise] = nil }
        ledger.remove(path)
        return nil
    }

    /// Why no file can be put at `path`; `nil`: one can.
    func probe(_ path: String) -> TokenFileError? {
        do throws(TokenFileError) {
            try TokenFileLocation(path).probe()
            return nil
        } catch {
            return error
        }
    }

    /// What the file shall hold; the caller wipes it.
    private func text(
        of token: SecretID,
        in content: TokenFileContent
    ) throws(TokenFileError) -> [UInt8] {
        var text: [UInt8] = []
        var fits = false
        do {
            try unsafe memory.open(token) { token in
                fits = unsafe content.fits(token)
                // At once, so that growing leaves no copy behind.
                text.reserveCapacity(content.before.count + token.count + content.after.count)
                text += content.before
                unsafe text.append(contentsOf: token)
                text += content.after
            }
        } catch {
            throw .failed("the token cannot be opened")
        }
        guard fits else {
            text.wipe()
            throw .failed("the token holds characters that this format has no place for")
        }
        return text
    }
}
