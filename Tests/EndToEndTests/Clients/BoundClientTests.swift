// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the scripts that run glewlwyd are not here; set TOKENAGENT_IDP_DIR to their directory"

extension EndToEnd {
    /// Clients whose tokens are bound to a key of the agent's, at a server this project did not write.
    ///
    /// It demands a nonce in every proof of possession.
    @Suite(.full, .enabled(if: GlewlwydAuth.isAvailable, isMissing), .glewlwydAuthWithProofs, .serialized)
    struct BoundClientTests {
        static let certified = ["mtls", "mtls_san"]

        @Test(
            .holds("O57"),
            arguments: GlewlwydAuthTests.clients.filter { !BoundClientTests.certified.contains($0) }
        )
        func `tokens are bound whatever key or secret the client proves itself by, pushed or not`(
            client: String
        ) async throws {
            for realm in ["strong", "par"] {
                let scene = try await GlewlwydAuthScene(
                    client,
                    realm: realm,
                    port: 18410,
                    more: "dpop = true"
                )
                try await scene.logIn()
                var keys: Set<String> = []
                var tokens: Set<String> = []
                for round in 0..<3 {
                    if round > 0 {
                        let refreshed = try await scene.refresh()
                        #expect(
                            refreshed.status == 0,
                            "\(realm): \(refreshed.standardError) \(scene.agent.log)"
                        )
                    }
                    tokens.insert(try await scene.get())
                    keys.insert(try await scene.boundKey())
                }
                #expect(tokens.count == 3 && keys.count == 1, "\(realm): \(keys)")
                let logout = try await scene.agent.tokenctl("logout", "work")
                #expect(logout.status == 0 && logout.standardError.isEmpty, "\(realm): \(logout)")
            }
        }

        /// It has another address for certificates, and compares the proof with the one for everybody else.
        ///
        /// RFC 9449 §4.2 wants the address that the request goes to.
        @Test(arguments: certified)
        func `a proof is for the address it is sent to, also where a server wants another one`(
            client: String
        ) async throws {
            let scene = try await GlewlwydAuthScene(client, port: 18410, more: "dpop = true")
            let refused = try await scene.agent.tokenctl("login", "work")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("invalid_dpop_proof"), "\(refused)")
        }
    }
}

extension GlewlwydAuthScene {
    /// The key that the server says the token is bound to (RFC 9449 §6.1).
    fileprivate func boundKey() async throws -> String {
        let answer = try await agent.socket.request(
            "GET",
            "/v1/sessions/work/token?dpop_url=https%3A%2F%2Fx.example"
        )
        let object = try #require(try JSONValue(parsing: answer.body).object)
        #expect(object["token_type"]?.string?.lowercased() == "dpop")
        let claims = try await agent.tokenctl("claims", "work", "--json")
        let printed = try JSONValue(parsing: claims.standardOutput.utf8).object
        let confirmation = printed?["claims"]?.object?["cnf"]?.object
        return try #require(confirmation?["jkt"]?.string, "\(claims)")
    }
}
