// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Servers that are asked for an ID token and send none.
struct MissingIDTokenTests {
    private typealias Login = BrowserLoginTests.Login

    /// Logs in at a server that prompts the user and sends no ID token.
    private func logInWithoutIDToken(
        _ login: Login,
        present: PreviousLogin? = nil
    ) async -> LoginOutcome {
        login.bench.exchange.always("https://id.example/tenant/revoke", .json("{}"))
        return await login.run(present: present) { [exchange = login.bench.exchange] address in
            let body = #"{"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"rt"}"#
            exchange.always(TestIssuer.tokenEndpoint, .json(body))
            Task { try await address.redirect("code=c&state=\(address.state)") }
        }
    }

    private func revoked(_ login: Login) -> [String?] {
        login.bench.exchange.posts(to: "https://id.example/tenant/revoke").map { $0.form["token"] }
    }

    @Test(.holds("98", "O40"))
    func `a login without the ID token that was asked for is of nobody that is known`() async throws {
        let login = try await Login()
        let grant = try #require(await logInWithoutIDToken(login).granted)
        #expect(grant.subject == nil && grant.tokens.idToken == nil)
        #expect(try login.bench.text(grant.tokens.refreshToken) == "rt")
        #expect(revoked(login).isEmpty)
    }

    @Test(.holds("98")) func `where an ID token is required, a login without one is revoked`() async throws {
        var profile = TestIssuer.profile()
        profile.requiresIDToken = true
        let login = try await Login(profile)
        let failure = try #require(await logInWithoutIDToken(login).failure)
        #expect(failure.message == "the server returned no ID token, which this session requires")
        #expect(failure.remedy?.text.contains("id_token") == true)
        #expect(revoked(login) == ["rt", "at"])
    }

    @Test(.holds("98")) func `a verified account is not replaced by an unverified login`() async throws {
        let login = try await Login()
        let present = PreviousLogin(scope: ["openid"], subject: "alice")
        let failure = try #require(await logInWithoutIDToken(login, present: present).failure)
        #expect(failure.code == "other_account")
        #expect(revoked(login) == ["rt", "at"])
        let before = PreviousLogin(scope: ["openid"], subject: nil)
        #expect(await logInWithoutIDToken(login, present: before).granted != nil)
    }
}
