// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The store and the server while agents start, end and are stopped.
    @Suite struct RestartTests {
        @Test(.holds("63"))
        func `of two agents that start at once one holds the store, and the next takes it over`()
            async throws
        {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            let token = try await scene.token()
            try await scene.agent.kill()
            let rounds = TestEnvironment.isFull ? 200 : 8
            var takeovers: [Duration] = []
            for round in 0..<rounds {
                let start = ContinuousClock.now
                let (holder, path) = try await pair(scene, round)
                takeovers.append(ContinuousClock.now - start)
                let served = try await ConnectedAgentSocket(path: path).request(
                    "GET",
                    "/v1/sessions/work/token"
                )
                #expect(served.json?["access_token"]?.string == token)
                holder.signal(.kill)
                try await holder.finish()
            }
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            takeovers.sort()
            #expect(takeovers[rounds / 2] <= .seconds(1))
            Attachment.record(
                """
                \(2 * rounds) starts, \(rounds) holders, takeover after \(takeovers[rounds / 2]), \
                at most \(takeovers[rounds - 1])
                """,
                named: "figure"
            )
        }

        /// Starts two agents on one store.
        ///
        /// - Returns: the one that holds it, and its socket; the other has ended.
        private func pair(_ scene: Scene, _ round: Int) async throws -> (Program, String) {
            let paths = ["a", "b"].map { scene.agent.home.path("run/\($0)\(round).sock") }
            let agents = try paths.map { path in
                try Program(
                    [BuiltPrograms.agent, "--foreground", "-a", path],
                    environment: scene.agent.environment
                )
            }
            let ended = try await Polling.value { agents.firstIndex { $0.exitStatus != nil } }
            let loser = try #require(ended)
            #expect(agents[loser].exitStatus != 0)
            #expect(!File.exists(paths[loser]))
            let answers = try await Polling.until {
                let reply = try? await ConnectedAgentSocket(path: paths[1 - loser]).request("GET", "/v1")
                return reply?.status == 200
            }
            try #require(answers, "\(agents[1 - loser].standardError)")
            return (agents[1 - loser], paths[1 - loser])
        }

        @Test(.holds("64")) func `a hook that outlives a killed agent keeps no lock`() async throws {
            let directory = try TemporaryDirectory()
            let file = directory.path("pid")
            // The hook ignores the end of its input and of its parents. It ends when the directory is removed.
            let hook = "trap '' HUP; echo $$ >\(file); while [ -e \(file) ]; do sleep 0.05; done"
            let scene = try await Scene.loggedIn(
                more: "[hooks]\nevent = [\"setsid\", \"sh\", \"-c\", \"\(hook)\"]"
            )
            let token = try await scene.token()
            let pid = try await Polling.value { File.text(file).flatMap { Int32($0.dropLast()) } }
            try await scene.agent.kill()
            try #require(File.exists("/proc/\(#require(pid))"))
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            File.remove(file)
        }

        @Test(.holds("65")) func `an interrupted refresh is on the wire within two seconds of the start`()
            async throws
        {
            let scene = try await Scene.loggedIn { $0.rotation = .grace(.seconds(10)) }
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            try await scene.agent.kill()
            try await refresh.finish()
            scene.issuer.release()
            let start = ContinuousClock.now
            async let isReplayed = scene.issuer.hasReceived(3, to: "/token", within: .seconds(120))
            try await scene.agent.start()
            #expect(await isReplayed)
            let waited = ContinuousClock.now - start
            #expect(waited <= .seconds(2))
            #expect(try await scene.agent.reaches("ready", "work"))
            #expect(try await scene.agent.status("work")["refreshes"]?.integer == 1)
            Attachment.record("on the wire \(waited) after the start", named: "figure")
        }

        @Test(.holds("107")) func `a token that ended while the agent stood still is not served`()
            async throws
        {
            let life: Duration = TestEnvironment.isFull ? .seconds(10) : .seconds(3)
            let scene = try await Scene.loggedIn { $0.accessLifetime = life }
            let before = try await scene.token()
            let agent = try #require(scene.agent.agent)
            agent.signal(.stop)
            let rounds = TestEnvironment.isFull ? 3 : 1
            for _ in 0..<rounds { #expect(try await scene.accessTokenExpires()) }
            let sent = scene.refreshes
            let woken = ContinuousClock.now
            agent.signal(.proceed)
            let after = try await scene.token()
            let waited = ContinuousClock.now - woken
            #expect(after != before)
            #expect(try await scene.isAccepted(after))
            #expect(scene.refreshes > sent)
            #expect(waited < .seconds(2))
            Attachment.record("a new token \(waited) after the agent went on", named: "figure")
        }

        @Test(.holds("129")) func `an interrupted get leaves the refresh to the agent`() async throws {
            let scene = try await Scene.loggedIn {
                $0.rotation = .strict
                $0.accessLifetime = .seconds(1)
            }
            scene.issuer.settings.delay = .milliseconds(20)
            let rounds = TestEnvironment.isFull ? 50 : 5
            var interrupted = 0
            for round in 0..<rounds {
                #expect(try await scene.accessTokenExpires())
                let get = try scene.agent.startTokenctl(["get", "work"])
                let end = ContinuousClock.now + .milliseconds(round * 50 / rounds)
                _ = try await Polling.until { ContinuousClock.now >= end }
                get.signal(.interrupt)
                let status = try await get.finish().status
                #expect([0, 130].contains(status))
                interrupted += status == 130 ? 1 : 0
            }
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let shown = scene.issuer.requests(to: "/token").compactMap { $0.form["refresh_token"] }
            #expect(Set(shown).count == shown.count)
            #expect(interrupted > 0)
            Attachment.record(
                "\(rounds) gets, \(interrupted) interrupted, \(shown.count) refreshes, none lost",
                named: "figure"
            )
        }
    }
}
