// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// Parameters of authorization requests other than scopes, at a server that this project did not write.
extension EndToEnd.GlewlwydTests {
    /// Returns the claims of the login's ID token.
    private func identity(_ scene: GlewlwydScene) async throws -> JSONObject {
        let claims = try await scene.agent.tokenctl("claims", "work", "--id-token", "--json")
        let printed = try JSONValue(parsing: claims.standardOutput.utf8).object
        return try #require(printed?["claims"]?.object, "\(claims)")
    }

    @Test func `a redirect address is the one that is registered, by its name and path`() async throws {
        let scene = try await GlewlwydScene(
            realm: "rotate",
            flow: "browser",
            port: nil,
            more: "redirect_uri = \"http://localhost:18401/callback\""
        )
        try await scene.logIn()
        #expect(try await scene.isAccepted(scene.get()))
        #expect(try await scene.refreshFailure() == nil)
    }

    @Test func `a server that does not say when it asked the person is not believed`() async throws {
        let scene = try await GlewlwydScene(
            realm: "rotate",
            flow: "browser",
            port: 18400,
            more: "max_age = \"1h\""
        )
        // Its ID tokens say auth_time 0, whenever somebody logs in.
        let refused = try await scene.agent.tokenctl("login", "work")
        #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
        #expect(refused.standardError.contains("as max_age requires"), "\(refused)")
        #expect(try await scene.agent.tokenctl("get", "work").status == 4)
    }

    @Test func `further parameters are the server's own business`() async throws {
        // This server returns a name only if it is requested (OpenID Connect Core §5.5).
        for (more, name) in [
            ("", nil),
            (#"authorization_parameters = { claims = '{"id_token":{"name":null}}' }"#, "Alice"),
        ] as [(String, String?)] {
            let scene = try await GlewlwydScene(realm: "rotate", flow: "browser", port: 18402, more: more)
            try await scene.logIn()
            #expect(try await identity(scene)["name"]?.string == name)
        }
    }
}
