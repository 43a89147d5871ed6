// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentSettings
@testable import OAuthClient

/// The transcripts of the provider files: what each provider's token endpoint answers, played to the client.
struct PlayedProviderTests {
    private static let directory = "\(BuiltPrograms.checkout)/packaging/providers"
    private static let catalogue = ProviderCatalogue(directories: [directory])

    /// A response of a provider's token endpoint.
    struct Transcript: CustomStringConvertible {
        let provider: String
        /// The request: a code, a refresh, a dead refresh token or a wrong client.
        let of: String
        let status: Int
        let body: String

        var description: String { "\(provider): \(of)" }
    }

    private static func transcripts(_ request: String) -> [Transcript] {
        catalogue.names.flatMap { name -> [Transcript] in
            let text = File.text("\(directory)/\(name).toml") ?? ""
            guard let table = try? TOMLTable(parsing: Array(text.utf8)),
                isPlayed(table), case .array(let all)? = table["transcript"]?.content
            else { return [] }
            return all.compactMap { element in
                guard case .table(let row) = element.content, case .string(request)? = row["of"]?.content,
                    case .integer(let status)? = row["status"]?.content, let status = Int(exactly: status),
                    case .string(let body)? = row["body"]?.content
                else { return nil }
                return Transcript(provider: name, of: request, status: status, body: body)
            }
        }
    }

    /// Whether the provider has refresh tokens and a standard token endpoint.
    private static func isPlayed(_ provider: TOMLTable) -> Bool {
        guard case .table(let session)? = provider["session"]?.content else { return false }
        let flows = ["jwt_bearer", "token_exchange", "client_credentials"]
        if case .string(let flow)? = session["flow"]?.content, flows.contains(flow) { return false }
        guard case .string(let kind)? = session["kind"]?.content else { return true }
        return ["oidc", "oauth2"].contains(kind)
    }

    /// Returns the dialect of a session of the provider.
    private func dialect(_ provider: String) throws -> ServerDialect {
        let file = try #require(try Self.catalogue.file(named: provider))
        let values = file.values.map { "\($0.name) = \"example\"" }.joined(separator: ", ")
        let keys = file.requiredKeys.filter { $0 != "client_id" }.map { "\($0) = \"/file\"" }
        let secret = file.clientSecret == .none || !keys.isEmpty ? "" : "client_secret = \"s\""
        let text = """
            [session.w]
            provider = "\(provider)"
            provider_values = { \(values) }
            \(file.session["client_id"] == nil ? "client_id = \"x\"" : "")
            \(file.session["client_secret"] == nil ? secret : "")
            \(keys.joined(separator: "\n"))
            """
        let settings = try SettingsReader(home: "/home/me", providers: Self.catalogue)
            .read(Array(text.utf8), file: "c")
        return try #require(settings.sessions.first).profile { _ in SecretID(rawValue: 0) }.dialect
    }

    /// A client of the provider, at which the token endpoint answers with the transcript.
    private func bench(_ transcript: Transcript) throws -> (Bench, ServerDialect) {
        var profile = ServerProfile.fixed(scopes: [])
        profile.client.proof = .secret(.command(["x"]), .post)
        profile.authorization.redirect = .registered("https://app.example/callback")
        profile.dialect = try dialect(transcript.provider)
        // Only the response to the code is known.
        profile.dialect.prolonging?.first = nil
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        let isLogin = transcript.of == "code"
        bench.exchange.expect(
            (isLogin ? nil : profile.dialect.renewalURL) ?? "https://tokens.example/token",
            .json(transcript.body, status: transcript.status)
        )
        return (bench, profile.dialect)
    }

    @Test(.holds("270"), arguments: transcripts("refresh") + transcripts("code"))
    func `tokens are taken with their lifetime`(transcript: Transcript) async throws {
        let (bench, dialect) = try bench(transcript)
        let isLogin = transcript.of == "code"
        let granted: GrantedTokens
        if isLogin {
            let outcome = await LoginByPaste(bench).run([dialect.redirects.code: "c"])
            granted = try #require(outcome.granted?.tokens, "\(outcome)")
        } else {
            let outcome = try await bench.refresh()
            granted = try #require(outcome.granted, "\(String(describing: outcome.failure))")
        }
        let format = isLogin ? dialect.responses.ofLogins : dialect.responses
        let object = try #require(try JSONValue(parsing: transcript.body.utf8).object)
        let content = try #require(format.paths.content(of: object))
        let value = content[format.names.expiresIn]
        let stated = value.flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        // Zero and less are no lifetimes, and none is longer than ten years.
        let longest = 3650 * 86_400.0
        let seconds = stated.map { Double($0) / format.lifetimeUnit.perSecond }
        let known = seconds.flatMap { $0 > 0 ? Duration.seconds(min($0, longest)) : nil }
        let isEndless = stated == 0 && format.zeroMeansNever
        #expect(granted.lifetime == known ?? (isEndless ? nil : format.assumedLifetime))
        for name in format.keptMembers where object[name]?.string != nil {
            #expect(granted.keptMembers[name] != nil)
        }
    }

    /// Whatever the words, the login ends, or counts towards its end.
    @Test(.holds("270"), arguments: transcripts("dead")) func `a dead refresh token is no outage`(
        transcript: Transcript
    ) async throws {
        let kind = try #require(try await bench(transcript).0.refresh().failure?.kind)
        let ends: [FailureClass] = [
            .grantDead, .unexplained, .interactionRequired, .clientUnauthorized, .sessionOver,
            .clientRejected,
        ]
        #expect(ends.contains(kind), "\(kind)")
    }

    @Test(.holds("270"), arguments: transcripts("client")) func `a wrong client is no outage either`(
        transcript: Transcript
    ) async throws {
        let failure = try #require(try await bench(transcript).0.refresh().failure)
        let kinds: [FailureClass] = [
            .clientRejected, .clientUnauthorized, .misconfigured, .unexplained, .grantDead,
        ]
        #expect(kinds.contains(failure.kind), "\(failure.kind): \(failure.message)")
    }
}
