// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// Fetches the client secret, running its command once and keeping the result sealed.
actor SecretReader {
    private let source: SecretSource?
    /// The keys that name file and command, for messages.
    private let keys: (file: String, command: String)
    private let memory: SealedMemory
    private let commands: any CommandRunning
    private var kept: SecretID?

    /// A password manager may ask the person for a fingerprint.
    private static let commandTimeLimit: Duration = .seconds(30)

    init(
        source: SecretSource?,
        keys: (file: String, command: String) = ("client_secret_file", "client_secret_command"),
        memory: SealedMemory,
        commands: any CommandRunning
    ) {
        self.source = source
        self.keys = keys
        self.memory = memory
        self.commands = commands
    }

    /// The sealed secret, or `nil` for a public client.
    /// - Throws: `misconfigured` with what to fix, `busy` while sealed memory is locked.
    func read() async throws(RefreshFailure) -> SecretID? {
        switch source {
        case nil: return nil
        case .sealed(let secret): return secret
        case .file(let path): return try sealed(try readFile(path), from: "\(keys.file) \(path)")
        case .command(let command):
            if let kept, memory.kind(of: kept) != nil { return kept }
            return try sealed(try await run(command), from: "\(keys.command) \(command[0])")
        }
    }

    /// What ``read()`` has returned before, if it is still there.
    var held: SecretID? {
        if case .sealed(let secret) = source { secret } else { kept }
    }

    /// Drops the kept secret, which the server refused.
    func forget() {
        if let kept { memory.erase(kept) }
        kept = nil
    }

    private func readFile(_ path: String) throws(RefreshFailure) -> [UInt8] {
        do throws(SmallFile.Failure) {
            return try SmallFile.read(path)
        } catch {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "\(keys.file) \(path): \(error.message)"
            )
        }
    }

    private func run(_ command: [String]) async throws(RefreshFailure) -> [UInt8] {
        let result: CommandResult
        do throws(CommandFailure) {
            let limit = SecretReader.commandTimeLimit
            result = try await commands.run(command, environment: [:], timeLimit: limit)
        } catch {
            throw RefreshFailure(kind: .misconfigured, message: "\(keys.command): \(error.message)")
        }
        guard result.status == 0 else {
            let message = "\(keys.command) \(command[0]): exit status \(result.status)"
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
        return result.standardOutput
    }

    private func sealed(_ output: [UInt8], from origin: String) throws(RefreshFailure) -> SecretID {
        var bytes = output
        defer { bytes.wipe() }
        var count = bytes.count
        if count > 0, bytes[count - 1] == UInt8(ascii: "\n") { count -= 1 }
        if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        guard count > 0 else { throw RefreshFailure(kind: .misconfigured, message: "\(origin): is empty") }
        forget()
        let secret = try memory.sealing(bytes[..<count], as: .clientSecret)
        kept = secret
        return secret
    }
}

extension SealedMemory {
    /// Seals a copy of `bytes`; a locked memory is a passing failure.
    func sealing(_ bytes: ArraySlice<UInt8>, as kind: SecretKind) throws(RefreshFailure) -> SecretID {
        do {
            return try unsafe bytes.withUnsafeBytes { unsafe try seal($0, as: kind) }
        } catch {
            throw .locked
        }
    }

    func sealing(_ text: String, as kind: SecretKind) throws(RefreshFailure) -> SecretID {
        var text = text
        do {
            return try text.withUTF8 { bytes in unsafe try seal(UnsafeRawBufferPointer(bytes), as: kind) }
        } catch {
            throw .locked
        }
    }

    /// The secret as a string, for the few uses that cannot do without one.
    func text(of secret: SecretID) throws(RefreshFailure) -> String {
        do {
            return try unsafe open(secret) { unsafe String(decoding: $0, as: UTF8.self) }
        } catch {
            throw .locked
        }
    }
}

extension RefreshFailure {
    /// Sealed memory gives nothing out: unlock it and try again.
    static let locked = RefreshFailure(kind: .busy, message: "the secret store is locked")
}
