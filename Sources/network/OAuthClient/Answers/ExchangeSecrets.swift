// SPDX-License-Identifier: MIT

import SealedStore
import SecretMemory
import ServerSettings
import Synchronization
import Text
import TokenCore

/// The secrets sent to and by a server in one refresh, login or revocation.
///
/// ``ServerDependencies`` records the secrets of requests and responses, for every kind of server. The bytes
/// live until the exchange ends and are then wiped. Safe to call from any thread.
final class ExchangeSecrets: Sendable {
    /// The secrets of the exchange that the current task belongs to.
    @TaskLocal static var current: ExchangeSecrets?

    /// The names of harmless parameters in requests, and of secret members in responses.
    struct ParameterNames: Sendable {
        /// The harmless parameters.
        ///
        /// Every other parameter of a request counts as a secret.
        private(set) var harmless = standardHarmless
        private(set) var secret = standardSecret

        // All servers share these sets: there may be thousands of servers.
        private static let standardHarmless: Set<ByteText> = [
            "grant_type", "client_id", "scope", "redirect_uri", "audience", "resource", "username",
            "token_type_hint", "subject_token_type", "actor_token_type", "requested_token_type",
            "response_type", "code_challenge", "code_challenge_method", "dpop_jkt",
            "prompt",
            "login_hint", "acr_values", "max_age", "client_assertion_type", "ClientId", "AuthFlow",
            "ChallengeName", "USERNAME", "TIMESTAMP", "DEVICE_KEY", "ANSWER",
            "Action", "Version", "RoleArn", "RoleSessionName", "DurationSeconds",
        ]
        private static let standardSecret: Set<ByteText> = [
            "access_token", "refresh_token", "id_token", "device_code", "AccessToken", "RefreshToken",
            "IdToken",
            "Session", "SECRET_BLOCK", "client_secret", "registration_access_token",
        ]

        /// Creates the names that a server of `kind` with `dialect` uses.
        init(_ kind: ServerProfile.Kind, _ dialect: ServerDialect = ServerDialect()) {
            secret.formUnion(kind.settings.secretMembers.map(\.bytewise))
            harmless.formUnion(kind.settings.harmlessMembers.map(\.bytewise))
            secret.formUnion(dialect.responses.names.tokens.map(\.bytewise))
            guard case .json(let backEnd) = kind else { return }
            let names = backEnd.rules.credentials
            harmless.subtract([names.password.bytewise, names.code.bytewise])
            harmless.subtract(secret)
        }
    }

    /// The header that carries the access token to the portal of IAM Identity Center.
    static let portalTokenHeader = "x-amz-sso_bearer_token"
    /// The request headers that carry a secret.
    private static let secretHeaders: Set<ByteText> = [
        "authorization", "dpop", portalTokenHeader.bytewise,
    ]
    /// The maximum number of bytes kept of one secret.
    ///
    /// An echo of a longer secret is found by its beginning.
    private static let longest = 8 << 10
    /// The maximum number of secrets kept of one exchange.
    ///
    /// A login polls and retries, and a server may send any number.
    private static let most = 64

    private let names: ParameterNames
    private let noted = Mutex<[[UInt8]]>([])

    init(_ names: ParameterNames) {
        self.names = names
    }

    deinit {
        noted.withLock { noted in
            for index in noted.indices { noted[index].wipe() }
        }
    }

    /// Replaces the secrets in `text`.
    func redacted(_ text: String) -> String {
        noted.withLock { Redaction($0) }.applied(to: text)
    }

    func remember(_ bytes: some Collection<UInt8>) {
        guard bytes.count >= Redaction.shortest else { return }
        noted.withLock { noted in
            let secret = Array(bytes.prefix(ExchangeSecrets.longest))
            guard !noted.contains(secret) else { return }
            // Drop the oldest: a response can still echo the newest ones.
            if noted.count == ExchangeSecrets.most { noted.removeFirst() }
            noted.append(secret)
        }
    }

    /// Records a secret of sealed memory, or nothing while that memory is locked.
    func remember(_ secret: SecretID?, in memory: SealedMemory) {
        guard let secret else { return }
        try? unsafe memory.open(secret) { unsafe remember($0) }
    }

    /// Records every secret that `request` carries.
    func remember(_ request: OutgoingRequest) {
        for (name, value) in request.headers where Self.secretHeaders.contains(name.bytewise) {
            remember(value.utf8)
            for word in value.bytewise.split(on: " ").dropFirst() { rememberCredentials(word) }
        }
        unsafe request.form?.withBytes { bytes in
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            for (name, value) in FormEncoding.decoded(text) ?? []
            where !names.harmless.contains(name.bytewise) {
                remember(value.utf8)
            }
        }
        unsafe request.json?.withBytes { bytes in
            guard let body = try? unsafe JSONValue(parsing: bytes) else { return }
            remember(body) { [names] in !names.harmless.contains($0) }
        }
    }

    /// Records the tokens and codes of a response, even if the response is not used.
    func remember(_ answer: ServerResponse.ParsedBody) {
        guard case .object(let object) = answer else { return }
        remember(.object(object)) { [names] in names.secret.contains($0) }
    }

    /// Records a token, or Basic credentials and the secret in them (RFC 7617 §2, RFC 6749 §2.3.1).
    private func rememberCredentials(_ word: Substring) {
        remember(word.utf8)
        guard let pair = Base64.decoded(String(word)) else { return }
        let password = pair.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        // Some servers take the secret as the user name.
        let secret = password.isEmpty ? pair.prefix { $0 != UInt8(ascii: ":") } : password
        remember(secret)
        guard let text = FormEncoding.decoded(String(decoding: secret, as: UTF8.self))?.first?.name else {
            return
        }
        remember(text.utf8)
    }

    /// Records the strings of members whose names `isSecret` accepts, at any depth.
    private func remember(_ value: JSONValue, where isSecret: (ByteText) -> Bool) {
        switch value {
        case .object(let object):
            for member in object.members {
                if let text = member.value.string {
                    if isSecret(member.name.bytewise) { remember(text.utf8) }
                } else {
                    remember(member.value, where: isSecret)
                }
            }
        case .array(let elements):
            for element in elements { remember(element, where: isSecret) }
        case .null, .bool, .number, .string: break
        }
    }
}
