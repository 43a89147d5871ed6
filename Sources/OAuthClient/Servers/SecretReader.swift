// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// Fetches a secret of the configuration, running its command once and keeping the result sealed.
actor SecretReader {
    /// Finds the secret that a person has given; `nil`: it is not in the store.
    typealias GivenSecret = @Sendable () async -> SecretID?

    private let source: SecretSource?
    /// What the secret is called in the configuration, without `file` and `command`.
    private let name: String
    /// What stands between the two.
    private let separator: String
    private let access: SmallFile.Access
    private let memory: SealedMemory
    private let commands: any CommandRunning
    private let findGiven: GivenSecret
    private var kept: SecretID?

    /// A password manager may ask the person for a fingerprint.
    private static let commandTimeLimit: Duration = .seconds(30)

    init(
        source: SecretSource?,
        named name: String = "client_secret",
        joinedBy separator: String = "_",
        sharedWith access: SmallFile.Access = .anybody,
        memory: SealedMemory,
        commands: any CommandRunning,
        findGiven: @escaping GivenSecret = { nil }
    ) {
        self.source = source
        self.name = name
        self.separator = separator
        self.access = access
        self.memory = memory
        self.commands = commands
        self.findGiven = findGiven
    }

    /// Reads what the client of `profile` proves itself by: its secret, or its key, which nobody else may read.
    init(of profile: ServerProfile, _ tools: ServerDependencies) {
        let key: SecretSource? =
            switch profile.client.proof {
            case .keyAssertion(let key, _): key.source
            case .certificate(_, let key): key
            case .none, .secret, .secretAssertion, .externalAssertion: nil
            }
        self.init(
            source: key ?? profile.client.proof.secret,
            named: key == nil ? "client_secret" : "client_key",
            sharedWith: key == nil ? .anybody : .nobody,
            memory: tools.memory,
            commands: tools.commands
        ) { [registrar = tools.registrar] in
            guard let purpose = profile.givenSecret else { return nil }
            return await registrar.givenSecret(for: purpose, of: profile.client.id)
        }
    }

    private nonisolated var fileKey: String { "\(name)\(separator)file" }

    /// The key for a command that prints the secret.
    nonisolated var commandKey: String { "\(name)\(separator)command" }

    /// The key that says where the secret is, and what it says, for messages.
    nonisolated var origin: String {
        switch source {
        case nil, .sealed: name
        case .given: "\(name)\(separator)sealed"
        case .file(let path): "\(fileKey) \(path)"
        case .command(let command): "\(commandKey) \(command[0])"
        }
    }

    /// The sealed secret, or `nil` where there is none.
    /// - Throws: `misconfigured` with what to fix, `helper_failed` if its file or program does not work now, `busy` while
    ///   sealed memory is locked.
    func read() async throws(RefreshFailure) -> SecretID? {
        switch source {
        case nil: return nil
        case .sealed(let secret): return secret
        case .given(let session): return try await given(to: session)
        case .file(let path): return try sealed(try await readFile(path))
        case .command(let command):
            if let kept, memory.kind(of: kept) != nil { return kept }
            return try sealed(try await run(command))
        }
    }

    /// What ``read()`` has returned before, if it is still there.
    var held: SecretID? {
        if case .sealed(let secret) = source { secret } else { kept }
    }

    /// Drops the kept secret, which the server refused.
    func forget() {
        // One that a person has given is the store's, until they give another.
        if let kept, !isGiven { memory.erase(kept) }
        kept = nil
    }

    private var isGiven: Bool { if case .given = source { true } else { false } }

    /// Looks for it each time: it has another number in memory after the store was locked.
    private func given(to session: SessionName) async throws(RefreshFailure) -> SecretID {
        kept = await findGiven()
        if let kept { return kept }
        guard !memory.isLocked else { throw .locked }
        throw RefreshFailure(
            kind: .misconfigured,
            message: "\(origin): the store has no secret for this client",
            remedy: "give it: tokenctl login \(session) --client-secret-stdin"
        )
    }

    private func readFile(_ path: String) async throws(RefreshFailure) -> [UInt8] {
        if case .nobody = access {
            let file = ReloadableFile(key: fileKey, path: path, access: access)
            return try await file.read(commands)
        }
        do throws(SmallFile.Failure) {
            return try SmallFile.read(path, sharedWith: access)
        } catch {
            throw RefreshFailure(
                kind: .helperFailed,
                message: "\(origin): \(error.message)",
                remedy: error.remedy
            )
        }
    }

    private func run(_ command: [String]) async throws(RefreshFailure) -> [UInt8] {
        do throws(CommandFailure) {
            return try await commands.output(of: command, within: SecretReader.commandTimeLimit)
        } catch {
            throw RefreshFailure(error, of: commandKey)
        }
    }

    private func sealed(_ output: [UInt8]) throws(RefreshFailure) -> SecretID {
        var bytes = output
        defer { bytes.wipe() }
        bytes.removeLineEnd()
        guard !bytes.isEmpty else {
            throw RefreshFailure(kind: .helperFailed, message: "\(origin): is empty")
        }
        forget()
        let secret = try memory.sealing(bytes[...], as: .clientSecret)
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
