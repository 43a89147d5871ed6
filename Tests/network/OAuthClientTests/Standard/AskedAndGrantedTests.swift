// SPDX-License-Identifier: MIT

import Synchronization
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Consent prompts and audiences in requests, and the server's response to them.
struct AskedAndGrantedTests {
    /// Scopes, `prompt` in the configuration, and the `prompt` that is sent (OIDC Core §11).
    @Test(
        arguments: [
            (["openid"], nil, nil), (["openid", "offline_access"], nil, "consent"),
            (["openid", "offline_access"], "", nil), (["openid", "offline_access"], "login", "login"),
            (["openid"], "select_account consent", "select_account consent"),
        ] as [([String], String?, String?)]
    )
    func `offline_access asks for consent unless the configuration says otherwise`(
        scopes: [String],
        written: String?,
        sent: String?
    ) async throws {
        var profile = TestIssuer.profile()
        profile.scopes = scopes
        profile.authorization.prompt = written
        let login = try await BrowserLoginTests.Login(profile)
        let asked = Mutex<String?>(nil)
        _ = await login.run { address in
            asked.withLock { $0 = address.parameters["prompt"] }
            Task { try await address.redirect("error=access_denied&state=\(address.state)") }
        }
        #expect(asked.withLock { $0 } == sent)
    }

    /// `aud` of the access token, and whether there is a warning about it.
    @Test(
        arguments: [
            ("https://api.example/", false), ("https://api.example", false), ("https://other.example", true),
            (["x", "https://api.example/"], false), (["x", "y"], true), (.null, false),
        ] as [(JSONValue, Bool)]
    )
    func `an audience that the server ignored is said`(audience: JSONValue, isSaid: Bool) async throws {
        let claims = TestIssuer.changed([:], by: ["aud": audience])
        let token = "e30." + Base64.urlEncoded(claims.serialized) + ".AA"
        let bench = try Bench(.fixed())
        bench.exchange.expect("https://tokens.example/token", #"{"access_token":"\#(token)"}"#)
        let granted = try #require(
            try await bench.refresh(variant: TokenVariant(scopes: [], audience: "https://api.example/"))
                .granted
        )
        #expect(granted.remarks.map(\.kind) == (isSaid ? [.audienceIgnored] : []))
    }
}
