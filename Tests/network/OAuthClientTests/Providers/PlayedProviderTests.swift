// SPDX-License-Identifier: MIT

import AgentSettings
import ServerSettings
import TOML
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The transcripts of the provider files: what each provider's token endpoint answers, played to the client.
struct PlayedProviderTests {
    private static let directory = "\(BuiltPrograms.checkout)/packaging/providers"

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
        ProviderCatalogue(directories: [directory]).names.flatMap { name -> [Transcript] in
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

    private func bench() throws -> Bench {
        var profile = ServerProfile.fixed()
        profile.client.proof = .secret(.command(["x"]), .post)
        return try Bench(profile, commands: ScriptedCommands(prints: "s"))
    }

    private func outcome(_ transcript: Transcript) async throws -> RefreshOutcome {
        let bench = try bench()
        bench.exchange.expect(
            "https://tokens.example/token",
            .json(transcript.body, status: transcript.status)
        )
        return try await bench.refresh()
    }

    @Test(.holds("270"), arguments: transcripts("refresh") + transcripts("code"))
    func `tokens are taken with their lifetime`(transcript: Transcript) async throws {
        let outcome = try await outcome(transcript)
        let granted = try #require(outcome.granted, "\(String(describing: outcome.failure))")
        let object = try #require(try JSONValue(parsing: transcript.body.utf8).object)
        let stated = object["expires_in"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        // Zero and less are no lifetimes, and none is longer than ten years.
        let longest: Int64 = 3650 * 86_400
        #expect(granted.lifetime?.wholeSeconds == stated.flatMap { $0 > 0 ? min($0, longest) : nil })
    }

    /// Whatever the words, the login ends, or counts towards its end.
    @Test(.holds("270"), arguments: transcripts("dead")) func `a dead refresh token is no outage`(
        transcript: Transcript
    ) async throws {
        let kind = try #require(try await outcome(transcript).failure?.kind)
        let ends: [FailureClass] = [
            .grantDead, .unexplained, .interactionRequired, .clientUnauthorized, .sessionOver,
            .clientRejected,
        ]
        #expect(ends.contains(kind), "\(kind)")
    }

    @Test(.holds("270"), arguments: transcripts("client")) func `a wrong client is no outage either`(
        transcript: Transcript
    ) async throws {
        let failure = try #require(try await outcome(transcript).failure)
        let kinds: [FailureClass] = [
            .clientRejected, .clientUnauthorized, .misconfigured, .unexplained, .grantDead,
        ]
        #expect(kinds.contains(failure.kind), "\(failure.kind): \(failure.message)")
    }
}
