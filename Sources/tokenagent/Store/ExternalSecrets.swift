// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import SealedStore
import SecretMemory
import TokenCore

/// The secrets that unlock the store automatically, from a command or a credential of the service manager.
struct ExternalSecrets: ExternalAccess {
    /// The time limit of a command, 30 seconds: it may ask the user for a fingerprint.
    private static let timeLimit = Duration.seconds(30)

    let commands: any CommandRunning
    let eventLoop: any EventLoop
    let credentials: String?
    let hasSystemd: Bool
    let logger: Logger
    /// A closure that returns whether the configuration permits this command to open the store.
    let mayRun: @Sendable ([String]) -> Bool

    /// Reads the current secrets of `slots`.
    ///
    /// Blocks, so it must not be called on an event loop.
    ///
    /// - Returns: The secrets by slot, and the error of the last one that could not be read.
    func read(for slots: [SlotDescription]) -> (secrets: [Int: GuardedBytes], failure: StoreError?) {
        var secrets: [Int: GuardedBytes] = [:]
        var failure: StoreError?
        for slot in slots {
            guard case .external(let provider, let name) = slot.source else { continue }
            do throws(StoreError) {
                secrets[slot.index] = try provider.secret(name, by: self)
            } catch {
                logger.warning("automatic unlock failed", metadata: ["reason": "\(error)"])
                // A wrong PIN is told, and not tried again, whatever else has failed.
                if failure?.mayPass != false { failure = error }
            }
        }
        return (secrets, failure)
    }

    func output(
        of command: [String],
        _ failure: (String, Bool) -> StoreError
    ) throws(StoreError) -> [UInt8] {
        guard mayRun(command) else {
            throw failure("it was not run, because it is not the unlock_command in [vault]", true)
        }
        let answer = eventLoop.makeFutureWithTask { [commands] () -> Result<[UInt8], CommandFailure> in
            do throws(CommandFailure) {
                return .success(try await commands.output(of: command, within: ExternalSecrets.timeLimit))
            } catch {
                return .failure(error)
            }
        }
        switch try? answer.wait() {
        case nil: throw failure("interrupted", false)
        case .failure(let failed): throw failure(failed.message, failed.rejectsCredential)
        case .success(let output): return output
        }
    }
}
