// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct DurabilityTests {
        @Test func `after kill -9 a restart serves the same token without the network`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            try await scene.agent.kill()
            await scene.issuer.stopListening()
            let connections = scene.issuer.acceptedConnections
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            #expect(scene.issuer.acceptedConnections == connections)
            try await scene.issuer.listen()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test(.holds("65"), arguments: [IssuerSettings.Rotation.none, .grace(.seconds(30))])
        func `kill -9 between the server's change and its answer loses nothing`(
            rotation: IssuerSettings.Rotation
        ) async throws {
            let scene = try await Scene.loggedIn { $0.rotation = rotation }
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            try await scene.agent.kill()
            try await refresh.finish()
            scene.issuer.release()
            try await scene.agent.start()
            // The interrupted refresh is replayed by itself, with the same refresh token.
            #expect(await scene.issuer.hasReceived(3, to: "/token", within: .seconds(120)))
            let sent = scene.issuer.requests(to: "/token").suffix(2).map { $0.form["refresh_token"] }
            #expect(sent[0] == sent[1])
            #expect(try await scene.agent.reaches("ready", "work"))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test(.holds("67")) func `a strict server that took the token back is reported honestly`()
            async throws
        {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            let token = try await scene.token()
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            try await scene.agent.kill()
            try await refresh.finish()
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("logged_out", "work"))
            #expect(try await scene.agent.status("work")["reason"] == "reply_lost")
            // The previous token is served until it expires.
            #expect(try await scene.token() == token)
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status == 4)
            #expect(refused.standardError.contains("tokenctl login work"))
        }

        @Test func `rotated tokens survive many kills`() async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            for _ in 0..<5 {
                #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
                try await scene.agent.kill()
                try await scene.agent.start()
            }
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let sent = scene.issuer.requests(to: "/token").compactMap { $0.form["refresh_token"] }
            #expect(Set(sent).count == sent.count)
        }

        /// Cuts the response after each number of bytes in a full run, alternately by an end and by a reset.
        ///
        /// The two orders are separate tests, because the agent sends at most five requests per second to one issuer.
        @Test(.holds("66", "77"), arguments: [true, false])
        func `an answer cut short is asked for again`(endsFirst: Bool) async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .grace(.seconds(30)) }
            let step = TestEnvironment.isFull ? 1 : 97
            var cut = 0
            while true {
                let ends = (cut / step).isMultiple(of: 2) == endsFirst
                let ending: Disturbance.Ending = ends ? .finish(afterBytes: cut) : .reset(afterBytes: cut)
                guard try await requests(scene, ending) == 2 else {
                    // Only a reset after the last byte may still let the response arrive.
                    #expect(try await requests(scene, .finish(afterBytes: cut)) == 1, "after \(cut) bytes")
                    break
                }
                cut += step
            }
            // Head and body of a token answer are longer than this.
            #expect(cut > 400)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            Attachment.record("\(cut / step) cuts at up to \(cut) bytes, none lost", named: "figure")
        }

        /// Refreshes with a first response that ends with `ending`, and returns the number of requests.
        ///
        /// All requests must have the same refresh token.
        private func requests(_ scene: Scene, _ ending: Disturbance.Ending) async throws -> Int {
            scene.issuer.forgetRequests()
            scene.issuer.queue(Disturbance(ending: ending))
            let answer = try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh")
            try #require(answer.status == 200, "\(ending): \(answer.text)")
            let sent = scene.issuer.requests(to: "/token").map { $0.form["refresh_token"] }
            #expect(Set(sent).count == 1)
            return sent.count
        }

        @Test(.holds("69")) func `SIGTERM lets a refresh in flight finish`() async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(try await Polling.until(within: .seconds(20)) { scene.refreshes == 1 })
            let agent = try #require(scene.agent.agent)
            agent.signal(.terminate)
            #expect(try await Polling.until { scene.agent.log.contains("stopping") })
            scene.issuer.release()
            #expect(try await agent.finish().status == 0)
            try await refresh.finish()
            #expect(!File.exists(scene.agent.socketPath))
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(scene.issuer.livingRefreshTokens.count == 1)
        }

        @Test func `a damaged record costs one session and is kept aside`() async throws {
            let scene = try await Scene()
            try scene.agent.configure(
                Scene.session("work", scene.issuer) + Scene.session("home", scene.issuer)
            )
            try await scene.agent.start()
            try await scene.logIn("work")
            let before = Set(scene.agent.home.names(in: "state/tokenagent/sessions"))
            try await scene.logIn("home")
            try await scene.agent.kill()
            let records = scene.agent.home.names(in: "state/tokenagent/sessions").filter {
                $0.hasSuffix(".rec")
            }
            let damaged = try #require(records.first { !before.contains($0) })
            try scene.agent.home.write("damaged", to: "state/tokenagent/sessions/\(damaged)")
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
            #expect(try await scene.agent.tokenctl("get", "home").status == 4)
            let aside = scene.agent.home.names(in: "state/tokenagent/sessions").filter {
                $0.hasSuffix(".bad")
            }
            // The owner of the record is unknown. The session without a record reports where its record may be.
            let status = try await scene.agent.status("home")
            #expect(status["reason"]?.string == "record_unreadable")
            #expect(status["message"]?.string?.contains(try #require(aside.first)) == true, "\(status)")
            #expect(try await scene.agent.status("work")["reason"] == nil)
            try await scene.logIn("home")
            #expect(try await scene.agent.status("home")["reason"] == nil)
        }

        @Test(.holds("1", "38", "39"))
        func `nothing readable lies on the disk, and nothing is open to others`() async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            let token = try await scene.token()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let secrets =
                [token, try await scene.token()] + scene.issuer.livingRefreshTokens + [scene.issuer.issuer]
            for secret in secrets {
                let found = try await scene.agent.shell(
                    "grep -rlF -- '\(secret)' '\(scene.agent.statePath)' \"$XDG_RUNTIME_DIR\""
                )
                #expect(found.standardOutput.isEmpty)
            }
            let open = try await scene.agent.shell(
                "find '\(scene.agent.statePath)' \"$XDG_RUNTIME_DIR/tokenagent\" -perm /077"
            )
            #expect(open.standardOutput.isEmpty, "\(open.standardOutput)")
            #expect(File.mode(scene.agent.socketPath) == 0o600)
        }
    }
}
