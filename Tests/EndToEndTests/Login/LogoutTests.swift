// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct LogoutTests {
        @Test(.holds("O50")) func `logout revokes the refresh token first and forgets`() async throws {
            let scene = try await Scene.loggedIn()
            let refreshToken = try #require(scene.issuer.livingRefreshTokens.first)
            let result = try await scene.agent.tokenctl("logout", "work")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(scene.issuer.requests(to: "/revoke").first?.form["token"] == refreshToken)
            #expect(scene.issuer.livingRefreshTokens.isEmpty)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `a server that cannot revoke is no server that has`() async throws {
            let scene = try await Scene.loggedIn { $0.metadata["revocation_endpoint"] = .null }
            let result = try await scene.agent.tokenctl("logout", "work")
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(result.standardOutput.contains("has no revocation_endpoint"), "\(result)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `a revocation endpoint that never answers keeps nobody waiting`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(Disturbance(isHeld: true), for: "/revoke")
            let begin = ContinuousClock.now
            let result = try await scene.agent.tokenctl("logout", "work", "--json")
            Attachment.record("\(ContinuousClock.now - begin)", named: "figure")
            scene.issuer.release()
            #expect(result.status == 5, "\(result)")
            #expect(result.standardOutput.contains(#""told":"retrying""#), "\(result)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `a local logout tells the server nothing`() async throws {
            let scene = try await Scene.loggedIn()
            #expect(try await scene.agent.tokenctl("logout", "work", "--local").status == 0)
            #expect(scene.issuer.requests(to: "/revoke").isEmpty)
            #expect(scene.issuer.livingRefreshTokens.count == 1)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `logout --all ends every session`() async throws {
            let scene = try await Scene()
            try scene.agent.configure(
                Scene.session("work", scene.issuer) + Scene.session("home", scene.issuer)
            )
            try await scene.agent.start()
            try await scene.logIn("work")
            try await scene.logIn("home")
            #expect(try await scene.agent.tokenctl("logout", "--all").status == 0)
            #expect(scene.issuer.livingRefreshTokens.isEmpty)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            #expect(try await scene.agent.tokenctl("get", "home").status == 4)
        }

        @Test func `a refresh in flight cannot bring the session back`() async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            let logout = try scene.agent.startTokenctl(["logout", "work"])
            #expect(try await scene.agent.reaches("logged_out", "work"))
            scene.issuer.release()
            try await logout.finish()
            #expect(try await refresh.finish().status != 0)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            #expect(try await Polling.until { scene.issuer.livingRefreshTokens.isEmpty })
        }

        @Test(.holds("72", "O49")) func `an unanswered revocation is repeated, also after a restart`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            await scene.issuer.stopListening()
            let result = try await scene.agent.tokenctl("logout", "work")
            #expect(result.status == 5)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            try await scene.agent.kill()
            try await scene.issuer.listen()
            try await scene.agent.start()
            #expect(
                try await Polling.until(within: .seconds(30)) { scene.issuer.livingRefreshTokens.isEmpty }
            )
        }
    }
}
