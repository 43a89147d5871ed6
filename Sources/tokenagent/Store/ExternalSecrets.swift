// SPDX-License-Identifier: MIT

import Glibc
import Logging
import NIOCore
import SealedStore
import SecretMemory
import Text
import TokenCore

/// The secrets that unlock the store automatically, from a command or a credential of the service manager.
struct ExternalSecrets: Sendable {
    /// The default name of the credential.
    static let defaultCredential = "tokenagent"
    /// The time limit of a command, 30 seconds: it may ask the user for a fingerprint.
    private static let timeLimit = Duration.seconds(30)
    /// The maximum size of a credential in bytes.
    ///
    /// No key is longer.
    private static let maximumSecretSize = 8192

    let commands: any CommandRunning
    let eventLoop: any EventLoop
    let credentials: String?
    let logger: Logger
    /// A closure that returns whether the configuration permits this command to open the store.
    let mayRun: @Sendable ([String]) -> Bool

    /// Reads the current secrets of `slots`.
    ///
    /// - Returns: The secrets by slot, and the error of the last one that could not be read.
    func read(for slots: [SlotDescription]) -> (secrets: [Int: GuardedBytes], failure: StoreError?) {
        var secrets: [Int: GuardedBytes] = [:]
        var failure: StoreError?
        for slot in slots {
            guard case .external(let provider, let name) = slot.source else { continue }
            do throws(StoreError) {
                secrets[slot.index] = try read(provider, name)
            } catch {
                logger.warning("automatic unlock failed", metadata: ["reason": "\(error)"])
                // A wrong PIN is told, and not tried again, whatever else has failed.
                if failure?.mayPass != false { failure = error }
            }
        }
        return (secrets, failure)
    }

    /// Reads the current secret from `provider`.
    ///
    /// Blocks, so it must not be called on an event loop.
    func read(_ provider: ExternalProvider, _ name: String) throws(StoreError) -> GuardedBytes {
        switch provider {
        case .command: try run(name.split(separator: "\0", omittingEmptySubsequences: false).map(String.init))
        case .systemdCredential: try credential(name)
        case .secretService, .keychain:
            throw .noExternalSecret(provider, name: name, reason: "this version does not support keyrings")
        }
    }

    private func run(_ command: [String]) throws(StoreError) -> GuardedBytes {
        func failure(_ reason: String, isFinal: Bool = false) -> StoreError {
            .noExternalSecret(.command, name: command.first ?? "", reason: reason, isFinal: isFinal)
        }
        guard mayRun(command) else {
            throw failure(
                "it was not run, because it is not the unlock_command in [vault]",
                isFinal: true
            )
        }
        let answer = eventLoop.makeFutureWithTask { [commands] () -> Result<[UInt8], CommandFailure> in
            do throws(CommandFailure) {
                return .success(try await commands.output(of: command, within: ExternalSecrets.timeLimit))
            } catch {
                return .failure(error)
            }
        }
        guard let outcome = try? answer.wait() else {
            throw failure("interrupted")
        }
        switch outcome {
        case .failure(let failed): throw failure(failed.message, isFinal: failed.rejectsCredential)
        case .success(let output): return try secret(output, orThrow: failure("no output"))
        }
    }

    private func credential(_ name: String) throws(StoreError) -> GuardedBytes {
        func failure(_ reason: String, isFinal: Bool = false) -> StoreError {
            .noExternalSecret(.systemdCredential, name: name, reason: reason, isFinal: isFinal)
        }
        guard let credentials else { throw failure("CREDENTIALS_DIRECTORY is not set", isFinal: true) }
        guard !name.contains("/"), name != ".." else {
            throw failure("a credential's name cannot contain /", isFinal: true)
        }
        let path = "\(credentials)/\(name)"
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw failure("\(path): \(unsafe String(cString: strerror(errno)))") }
        defer { close(file) }
        // One additional byte shows that the file is longer.
        var bytes = [UInt8](repeating: 0, count: ExternalSecrets.maximumSecretSize + 1)
        let count = unsafe Glibc.read(file, &bytes, bytes.count)
        guard count >= 0 else { throw failure("\(path): \(unsafe String(cString: strerror(errno)))") }
        guard count <= ExternalSecrets.maximumSecretSize else {
            bytes.wipe()
            throw failure("\(path) is longer than \(ExternalSecrets.maximumSecretSize) bytes")
        }
        return try secret(Array(bytes[..<count]), orThrow: failure("\(path) is empty"))
    }

    /// Returns a guarded copy of `output` without one trailing line break, which is not part of a typed
    /// secret.
    private func secret(
        _ output: [UInt8],
        orThrow failure: StoreError
    ) throws(StoreError) -> GuardedBytes {
        let end = output.last == UInt8(ascii: "\n") ? output.count - 1 : output.count
        guard end > 0 else { throw failure }
        return try .guarding(Array(output[..<end]))
    }
}
