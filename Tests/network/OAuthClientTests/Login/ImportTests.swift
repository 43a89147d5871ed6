// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

/// A refresh token that is taken over, of whichever kind of server it is.
struct ImportTests {
    enum Family: CaseIterable {
        case standard
        case mobile
        case pool

        var profile: ServerProfile {
            switch self {
            case .standard: .fixed()
            case .mobile: JSONServerTests.profile()
            case .pool:
                ServerProfile(
                    kind: .cognito(
                        CognitoPool(
                            region: "eu-central-1",
                            userPoolID: "eu-central-1_pool",
                            endpoint: "https://pool.example/"
                        )
                    ),
                    client: ClientIdentity("cli"),
                    flow: .import
                )
            }
        }

        /// Where the refresh token is used, and an answer that brings no other.
        var keeping: (address: String, answer: String) {
            switch self {
            case .standard: ("https://tokens.example/token", #"{"access_token":"at","token_type":"Bearer"}"#)
            case .mobile: (JSONServerTests.refresh, #"{"accessToken":"at"}"#)
            case .pool: ("https://pool.example/", #"{"AuthenticationResult":{"AccessToken":"at"}}"#)
            }
        }
    }

    private func refreshTokens(in bench: KindBench) throws -> [String] {
        try (1...40).map { SecretID(rawValue: $0) }.filter { bench.memory.kind(of: $0) == .refreshToken }
            .compactMap { try bench.text($0) }
    }

    /// The agent does not know the flow when it seals what a request brings, where the configuration says it.
    @Test(arguments: Family.allCases)
    func `it is sealed as what it is, whatever it came as, and the caller's stays the caller's`(
        family: Family
    ) async throws {
        let bench = try KindBench(family.profile)
        let given = try bench.secret("imported", .password)
        bench.exchange.expect(family.keeping.address, family.keeping.answer)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .import, secret: given),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        guard case .refreshToken(let kept) = try #require(outcome.granted).renewal else {
            Issue.record("\(outcome)")
            return
        }
        #expect(kept != given)
        #expect(bench.memory.kind(of: kept) == .refreshToken)
        #expect(try bench.text(kept) == "imported")
        #expect(try bench.text(given) == "imported")
    }

    @Test(arguments: Family.allCases)
    func `nothing is left of one that the server refuses`(family: Family) async throws {
        let bench = try KindBench(family.profile)
        bench.exchange.expect(family.keeping.address, status: 500, "")
        let person = ScriptedPerson(memory: bench.memory) { $0.kind == .refreshToken ? "imported" : nil }
        let outcome = await bench.server.logIn(LoginRequest(flow: .import), conversation: person)
        #expect(outcome.failure != nil)
        #expect(try refreshTokens(in: bench).isEmpty)
    }
}
