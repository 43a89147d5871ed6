// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Lifetimes and types of tokens as the standards do not have them.
struct OddAnswerTests {
    private func refresh(_ body: String) async throws -> (Bench, RefreshOutcome) {
        try await AgentTokenTests().refresh(body)
    }

    @Test(.holds("110"), arguments: ["0", "-1", "\"-1\""])
    func `a lifetime that no token has is ignored, and that is said`(literal: String) async throws {
        let (_, outcome) = try await refresh(
            #"{"access_token":"at","token_type":"Bearer","expires_in":\#(literal),"refresh_token":"rt"}"#
        )
        let granted = try #require(outcome.granted)
        #expect(granted.lifetime == nil)
        #expect(granted.remarks.map(\.kind) == [.lifetimeIgnored])
    }

    /// Milliseconds, read as seconds, and what a token says that has no time of issue.
    @Test(
        .holds("110"),
        arguments: [
            (3_599_999, 1_800_003_600, 3_600), (86_401, 1_800_000_600, 600),
            // What is plausible, or contradicts the clock, is believed.
            (86_400, 1_800_000_600, 86_400), (3_599_999, 1_799_999_999, 3_599_999),
            (3_599_999, 1_900_000_000, 3_599_999),
        ]
    )
    func `an implausible lifetime is checked against the end that a JWT names`(
        told: Int,
        end: Int,
        seconds: Int
    ) async throws {
        let token = AgentTokenTests.jwt(#"{"exp":\#(end)}"#)
        let (_, outcome) = try await refresh(#"{"access_token":"\#(token)","expires_in":\#(told)}"#)
        #expect(outcome.granted?.lifetime == .seconds(seconds))
    }

    @Test(arguments: [("3599999", 3_599), ("3600000.0", 3_600), ("\"600000\"", 600), ("1000", 1)])
    func `a lifetime is counted in the unit that is declared`(literal: String, seconds: Int) async throws {
        var profile = ServerProfile.fixed()
        profile.dialect.responses.lifetimeUnit = .milliseconds
        let bench = try Bench(profile)
        bench.exchange.expect(
            "https://tokens.example/token",
            #"{"access_token":"at","token_type":"Bearer","expires_in":\#(literal)}"#
        )
        #expect(try await bench.refresh().granted?.lifetime == .seconds(seconds))
    }

    /// Members that name an end, and the lifetime at 1,800,000,000.
    @Test(
        .holds("110"),
        arguments: [
            (#""expires_at":1800000600"#, Duration?.some(.seconds(600))),
            (#""expires_at":"1800000600""#, .seconds(600)),
            (#""expires_at":1800000600000"#, .seconds(600)),
            (#""expires_at":"2027-01-15T08:10:00Z""#, .seconds(600)),
            (#""expires":3600"#, .seconds(3_600)), (#""expires":1800000600"#, .seconds(600)),
            (#""expires_at":1800000600,"expires_in":50"#, .seconds(50)),
            (#""expires_at":1799999999"#, nil), (#""expires_at":600"#, nil), (#""expires":"soon""#, nil),
            (#""expires_in":null,"expires_at":1800000600"#, .seconds(600)),
            (#""expires_in":0,"expires_at":"2027-01-15T09:10:00+01:00""#, .seconds(600)),
            (#""expires_in":"soon","expires":3600"#, .seconds(3_600)),
            (#""expires_in":-1,"expires":0"#, nil), (#""expires_at":null,"expires":60"#, .seconds(60)),
            (#""expires":0"#, nil), (#""expires":false,"expires_at":1800000600"#, .seconds(600)),
        ]
    )
    func `without expires_in other names for the end count`(
        members: String,
        lifetime: Duration?
    ) async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at",\#(members)}"#)
        #expect(try #require(outcome.granted).lifetime == lifetime)
    }

    @Test(.holds("O19"), arguments: ["bot", "BearerToken", "jwt-bearer", "User Access Token"])
    func `a token that needs no proof is a bearer token, whatever the server calls it`(
        type: String
    ) async throws {
        let (bench, outcome) = try await refresh(
            #"{"access_token":"at","token_type":"\#(type)","expires_in":43200,"refresh_token":"rt-2"}"#
        )
        let granted = try #require(outcome.granted)
        #expect(granted.tokenType == "Bearer")
        #expect(granted.serverTokenType == type)
        #expect(try bench.text(granted.refreshToken) == "rt-2")
    }

    @Test(arguments: ["null", "7", "true", "[\"MAC\"]", "{}", "\"\"", "\"\\u0000\""])
    func `a type that is no word is none`(literal: String) async throws {
        let (_, outcome) = try await refresh(#"{"access_token":"at","token_type":\#(literal)}"#)
        let granted = try #require(outcome.granted)
        #expect(granted.tokenType == "Bearer" && granted.serverTokenType == nil, "\(granted)")
    }

    @Test(.holds("O19"), arguments: ["MAC", "PoP", "DPoP", "N_A", "mac", "pop", "dpop", "n_a"])
    func `a token that needs a proof is refused by its word, and the refresh token is kept`(
        type: String
    ) async throws {
        let (bench, outcome) = try await refresh(
            #"{"access_token":"at","token_type":"\#(type)","expires_in":3600,"refresh_token":"rt-2"}"#
        )
        #expect(outcome.failure?.message.contains(type) == true)
        #expect(try bench.text(outcome.saved?.refreshToken) == "rt-2")
    }
}
