// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// `max_age` of the authorization request, and what the ID token says of it (OIDC Core §3.1.3.7 (13)).
struct AuthenticationAgeTests {
    private static let now = WallTime(secondsSince1970: TestIssuer.now)
    private static let skew = IDTokenRules.ageSkew.components.seconds

    private func problem(
        maximumAge: Duration?,
        authenticatedBefore age: Int64?
    ) async throws
        -> IDTokenRules.Problem?
    {
        let rules = IDTokenRules(clientID: "cli", algorithms: [.rs256], maximumAge: maximumAge)
        let time = age.map { JSONValue.integer(TestIssuer.now - $0) } ?? .null
        let token = try #require(JWTParts(try await TestIssuer().idToken(["auth_time": time])))
        do throws(IDTokenRules.Problem) {
            try rules.checkTimes(token, at: Self.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        .holds("O41"),
        arguments: [
            (Duration.seconds(60), Int64(0), true), (.seconds(60), 60 + skew, true),
            (.seconds(60), 61 + skew, false), (.zero, skew, true), (.zero, skew + 1, false),
            (.seconds(60), 1_000_000_000, false),
        ]
    )
    func `an authentication older than asked for is refused`(
        maximumAge: Duration,
        age: Int64,
        isBelieved: Bool
    ) async throws {
        let problem = try await problem(maximumAge: maximumAge, authenticatedBefore: age)
        #expect(problem == (isBelieved ? nil : .authenticationTime))
    }

    @Test func `nothing was asked for, or nothing is said`() async throws {
        #expect(try await problem(maximumAge: nil, authenticatedBefore: 1_000_000) == nil)
        #expect(try await problem(maximumAge: .seconds(60), authenticatedBefore: nil) == nil)
    }
}
