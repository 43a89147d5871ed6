// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The secrets among the constants of one back end, read when a request needs them and kept sealed.
struct ConstantSecrets: Sendable {
    private let readers: [(secret: JSONConstants.Secret, reader: SecretReader)]
    private let memory: SealedMemory

    init(_ constants: JSONConstants, _ tools: ServerDependencies) {
        memory = tools.memory
        readers = constants.secrets.map { secret in
            let reader = SecretReader(
                source: secret.source,
                named: secret.key,
                joinedBy: ".",
                memory: tools.memory,
                commands: tools.commands
            )
            return (secret, reader)
        }
    }

    /// Returns the secrets by their configuration keys.
    ///
    /// A server's echo of them will be redacted.
    ///
    /// - Throws: `misconfigured` with the remedy, or `busy` while sealed memory is locked.
    func read() async throws(RefreshFailure) -> [String: SecretID] {
        var secrets: [String: SecretID] = [:]
        for (secret, reader) in readers {
            guard let sealed = try await reader.read() else { continue }
            ExchangeSecrets.current?.remember(sealed, in: memory)
            if let problem = try problem(of: sealed, inHeader: secret.isHeader) {
                throw RefreshFailure(
                    kind: .misconfigured,
                    message: ServerText.cleaned("\(secret.key): the secret must be \(problem)")
                )
            }
            secrets[secret.key] = sealed
        }
        return secrets
    }

    /// The secrets that ``read()`` has returned before.
    var held: [SecretID] {
        get async {
            var held: [SecretID] = []
            for (_, reader) in readers {
                if let secret = await reader.held { held.append(secret) }
            }
            return held
        }
    }

    /// Forgets the secrets that commands have printed, because the back end may have rejected them.
    func forget() async {
        for (_, reader) in readers { await reader.forget() }
    }

    /// Returns the rule that the secret violates, or `nil` if a request can carry the secret.
    private func problem(of secret: SecretID, inHeader: Bool) throws(RefreshFailure) -> String? {
        do {
            return try unsafe memory.open(secret) { bytes in
                if inHeader { return unsafe HeaderSyntax.isFit(bytes) ? nil : HeaderSyntax.rule }
                let isText =
                    unsafe bytes.count <= JSONConstants.maximumTextLength
                    && String(validating: bytes, as: UTF8.self) != nil
                return isText ? nil : "up to \(JSONConstants.maximumTextLength) bytes of UTF-8"
            }
        } catch {
            throw .locked
        }
    }
}

extension JSONConstants {
    /// Adds the constant members to the body of a request.
    func add(
        to body: JSONRequestBody.MemberWriter,
        _ secrets: [String: SecretID],
        from memory: SealedMemory
    ) throws(RefreshFailure) {
        try JSONConstants.add(members, JSONConstants.memberKey, to: body, secrets, from: memory)
    }

    private static func add(
        _ entries: [Entry],
        _ parent: String,
        to body: JSONRequestBody.MemberWriter,
        _ secrets: [String: SecretID],
        from memory: SealedMemory
    ) throws(RefreshFailure) {
        for entry in entries {
            let key = key(of: entry, in: parent)
            switch entry.value {
            case .text(let text): body.add(entry.name, text)
            case .integer(let number): body.add(entry.name, literal: String(number))
            case .boolean(let value): body.add(entry.name, literal: value ? "true" : "false")
            case .object(let inner):
                try body.add(entry.name) { members throws(RefreshFailure) in
                    try add(inner, key, to: members, secrets, from: memory)
                }
            case .secret:
                guard let secret = secrets[key] else { continue }
                try body.add(entry.name, secret, from: memory)
            }
        }
    }

    /// Returns the constant headers of a request, with names in lower case.
    func headers(
        with secrets: [String: SecretID],
        from memory: SealedMemory
    ) throws(RefreshFailure) -> [(name: String, value: String)] {
        var list: [(name: String, value: String)] = []
        for header in headers {
            let name = header.name.bytewise.lowercased.text
            switch header.value {
            case .text(let text): list.append((name, text))
            case .secret:
                let key = JSONConstants.key(of: header, in: JSONConstants.headerKey)
                guard let secret = secrets[key] else { continue }
                list.append((name, try memory.text(of: secret)))
            case .integer, .boolean, .object: break
            }
        }
        return list
    }
}
