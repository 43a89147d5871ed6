// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd.GlewlwydTests {
    /// Shows the session's token at userinfo with a proof for `url`, by default userinfo's own; once more with the
    /// nonce that the server then demands.
    private func userinfo(_ scene: GlewlwydScene, proofFor url: String? = nil) async throws -> String {
        let userinfo = scene.server.issuer("dpop") + "/userinfo"
        let url = (url ?? userinfo).replacing(":", with: "%3A")
        let first = try await scene.answer(of: userinfo, headers: try await shown(scene, "dpop_url=\(url)"))
        guard let nonce = first.firstMatch(of: /(?i)dpop-nonce: *(\S+)/)?.1 else {
            return String(first.prefix(12))
        }
        let query = "dpop_url=\(url)&dpop_nonce=\(nonce)"
        return String(try await scene.answer(of: userinfo, headers: try await shown(scene, query)).prefix(12))
    }

    /// The headers with which a client shows the token.
    private func shown(_ scene: GlewlwydScene, _ query: String) async throws -> [String] {
        let answer = try await scene.agent.socket.request("GET", "/v1/sessions/work/token?\(query)")
        let object = try #require(try JSONValue(parsing: answer.body).object)
        #expect(object["token_type"]?.string?.lowercased() == "dpop")
        let token = try #require(object["access_token"]?.string)
        return ["Authorization: DPoP \(token)", "DPoP: \(try #require(object["dpop_proof"]?.string))"]
    }

    /// A server that this project did not write demands a nonce in every proof.
    @Test func `tokens that are bound to a key live on through nonces, refreshes and a restart`() async throws
    {
        let scene = try await GlewlwydScene(realm: "dpop", flow: "browser", port: 18400, more: "dpop = true")
        try await scene.logIn()
        #expect(try await userinfo(scene) == "HTTP/1.1 200")
        #expect(try await userinfo(scene, proofFor: "https://elsewhere.example/") == "HTTP/1.1 401")
        #expect(try await !scene.isAccepted(scene.get()))
        var seen: Set<String> = [try await scene.get()]
        for _ in 0..<3 {
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed.standardError)")
            seen.insert(try await scene.get())
        }
        #expect(seen.count == 4)
        try await scene.agent.kill()
        try await scene.agent.start()
        #expect(try await userinfo(scene) == "HTTP/1.1 200")
        let refreshed = try await scene.refresh()
        #expect(refreshed.status == 0, "\(refreshed.standardError)")
        #expect(try await userinfo(scene) == "HTTP/1.1 200")
    }
}
