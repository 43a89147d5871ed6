// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// A reader of a configured secret, which runs the secret's command once and keeps the result sealed.
actor SecretReader {
    /// Finds the secret that the user gave, or returns `nil` if the store does not have it.
    typealias GivenSecret = @Sendable () async -> SecretID?

    private let source: SecretSource?
    /// The configuration key of the secret, without `file` and `command`.
    private let name: String
    /// The text between ``name`` and `file` or `command`.
    private let separator: String
    private let access: SmallFile.Access
    private let memory: SealedMemory
    private let commands: any CommandRunning
    private let findGiven: GivenSecret
    private var kept: SecretID?

    /// The maximum run time of a command.
    ///
    /// A password manager may ask the user for a fingerprint.
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

    /// Creates a reader of the secret that proves the client of `profile`, or of its key, which no other user
    /// may read.
    init(of profile: ServerProfile, _ tools: ServerDependencies) {
        let key: SecretSource? =
            switch profile.client.proof {
            case .keyAssertion(let key, _): key.source
            case .certificate(_, let key): key
            case .none, .basicID, .secret, .secretAssertion, .externalAssertion: nil
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

    /// Creates a reader of the key of a certificate, which no other user may read.
    init(key: SecretSource, _ tools: ServerDependencies) {
        self.init(
            source: key,
            named: "client_key",
            sharedWith: .nobody,
            memory: tools.memory,
            commands: tools.commands
        )
    }

    private nonisolated var fileKey: String { "\(name)\(separator)file" }

    /// The configuration key for a command that prints the secret.
    nonisolated var commandKey: String { "\(name)\(separator)command" }

    /// The configuration key of the file or command that the secret comes from.
    nonisolated var sourceKey: String {
        switch source {
        case nil, .sealed: name
        case .given: "\(name)\(separator)sealed"
        case .file: fileKey
        case .command: commandKey
        }
    }

    /// The configuration key of the source and its value, for messages.
    nonisolated var origin: String {
        switch source {
        case nil, .sealed: name
        case .given: "\(name)\(separator)sealed"
        case .file(let path): "\(fileKey) \(path)"
        case .command(let command): "\(commandKey) \(command[0])"
        }
    }

    /// Returns the sealed secret, or `nil` if none is configured.
    ///
    /// - Throws: `misconfigured` with the remedy, `helper_failed` if the file or program does not work now,
    ///   or `busy` while sealed memory is locked.
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

    /// The secret that ``read()`` has returned before, if it still exists.
    var held: SecretID? {
        if case .sealed(let secret) = source { secret } else { kept }
    }

    /// Forgets the kept secret, which the server rejected.
    func forget() {
        // The store owns a secret given by the user, until the user gives another.
        if let kept, !isGiven { memory.erase(kept) }
        kept = nil
    }

    private var isGiven: Bool { if case .given = source { true } else { false } }

    /// Finds the given secret each time, because its number in memory changes when the store is locked.
    private func given(to session: SessionName) async throws(RefreshFailure) -> SecretID {
        kept = await findGiven()
        if let kept { return kept }
        guard !memory.isLocked else { throw .locked }
        throw RefreshFailure(
            kind: .misconfigured,
            message: "\(origin): the store has no secret for this client",
            remedy: .run("tokenctl login \(session) --client-secret-stdin")
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
            throw RefreshFailure(error, of: origin)
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
    /// Seals a copy of `bytes`.
    ///
    /// - Throws: `busy` while the memory is locked.
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

    /// Returns the secret as a string, for the few uses that need one.
    ///
    /// - Throws: `busy` while the memory is locked.
    func text(of secret: SecretID) throws(RefreshFailure) -> String {
        do {
            return try unsafe open(secret) { unsafe String(decoding: $0, as: UTF8.self) }
        } catch {
            throw .locked
        }
    }
}

extension RefreshFailure {
    /// The failure while sealed memory is locked, until the user unlocks the store.
    static let locked = RefreshFailure(kind: .busy, message: "the secret store is locked")
}
