// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The assertions that are sent instead of a login (RFC 7523 §2.1), made or read for every request.
struct GrantAssertions: Sendable {
    private enum Origin: Sendable {
        case file(String)
        case command([String])
        case key(SecretReader, identifier: String?)
        case serviceAccount(SecretReader)
    }

    private let origin: Origin
    private let claims: JSONObject
    private let clientID: String
    /// The configured token endpoint, or `nil` if it is not configured.
    private let writtenEndpoint: String?
    /// The scopes to request, for assertions that contain them.
    var scope: [String] = []

    /// The time from `iat` to `exp` of an assertion for Google, in seconds.
    ///
    /// Google accepts up to one hour.
    private static let serviceAccountLifetime: Int64 = 300

    /// Creates the assertions of `profile`, or returns `nil` if its sessions send none or another session
    /// provides them.
    init?(_ profile: ServerProfile, _ tools: ServerDependencies) {
        guard case .assertion(let grant)? = profile.grant, let supply = grant.source.supply else {
            return nil
        }
        let reader = SecretReader(
            source: supply.source,
            named: supply.name,
            sharedWith: .nobody,
            memory: tools.memory,
            commands: tools.commands
        )
        switch grant.source {
        case .session: return nil
        case .file(let path): origin = .file(path)
        case .command(let words): origin = .command(words)
        case .signed(let key): origin = .key(reader, identifier: key.identifier)
        case .serviceAccount: origin = .serviceAccount(reader)
        }
        claims = grant.claims
        clientID = profile.client.id
        writtenEndpoint = profile.writtenTokenEndpoint
    }

    /// The reader of the signing key, or `nil` if assertions are signed elsewhere.
    private var key: SecretReader? {
        switch origin {
        case .file, .command: nil
        case .key(let reader, _), .serviceAccount(let reader): reader
        }
    }

    /// Whether assertions are signed here, dated by this machine's clock.
    var isOurs: Bool { key != nil }

    /// The key, if it has been read.
    var held: SecretID? {
        get async { await key?.held }
    }

    /// Forgets the key, after a token could not be obtained with it.
    func forget() async {
        await key?.forget()
    }

    /// Adds an assertion to `request`.
    ///
    /// The form is copied, because a request that is sent again has another assertion.
    ///
    /// - Parameters:
    ///   - request: A form for the token endpoint.
    ///   - time: The time of issue, by this machine's or the server's clock.
    ///   - tools: Runs programs, and has the memory with the key.
    /// - Throws: The reason there is no assertion. Nothing must be sent then.
    func add(
        to request: inout OutgoingRequest,
        at time: WallTime,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) {
        let form = request.form.map { FormBody(copying: $0) } ?? FormBody()
        form.add("assertion", try await make(for: request.url, at: time, tools))
        request.form = form
    }

    private func make(
        for url: EndpointURL,
        at time: WallTime,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> String {
        switch origin {
        case .file(let path):
            let ready = ExternalAssertion(source: .file(path), name: "assertion", workflow: nil)
            return try await ready.fetch(audience: url.description, tools)
        case .command(let words):
            let command = TokenCommand(words, key: "assertion_command")
            return try await command.run(tools).token
        case .key(let reader, let identifier):
            let issuer = JSONValue.string(clientID)
            let all = allClaims(
                ["iss": issuer, "sub": claims["iss"] ?? issuer],
                for: url,
                from: time,
                lifetime: ClientAssertions.lifetime
            )
            let text = try await text(of: reader, tools)
            do throws(SigningKey.Problem) {
                let key = try SigningKey(text)
                return try key.token(of: all, with: try key.algorithm(among: nil), as: identifier)
            } catch {
                throw error.failure(of: reader)
            }
        case .serviceAccount(let reader):
            let account = try ServiceAccount(try await text(of: reader, tools), from: reader.origin)
            try account.check(url, written: writtenEndpoint)
            var own: JSONObject = ["iss": .string(account.email)]
            if !scope.isEmpty { own["scope"] = .string(scope.joined(separator: " ")) }
            let lifetime = GrantAssertions.serviceAccountLifetime
            return try account.token(of: allClaims(own, for: url, from: time, lifetime: lifetime))
        }
    }

    private func text(
        of reader: SecretReader,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> String {
        guard let secret = try await reader.read() else {
            throw RefreshFailure(kind: .misconfigured, message: "\(reader.origin) is missing")
        }
        return try tools.memory.text(of: secret)
    }

    /// Returns the `own` claims, the configured claims, and the claims that are unique to each assertion.
    ///
    /// The audience is the exact URL of the request, unless the configuration sets another. So a server that
    /// receives an assertion cannot use it at another server.
    private func allClaims(
        _ own: JSONObject,
        for url: EndpointURL,
        from time: WallTime,
        lifetime: Int64
    ) -> JSONObject {
        var all = own
        all["aud"] = .string(url.description)
        for claim in claims.members { all[claim.name] = claim.value }
        all["iat"] = .integer(time.secondsSince1970)
        all["exp"] = .integer(time.secondsSince1970 + lifetime)
        all["jti"] = .string(RandomText.make())
        return all
    }
}
