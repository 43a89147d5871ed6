// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct ClockTests {
        @Test(.holds("106"))
        func `a step of the wall clock forward costs one refresh, and no step costs more`() async throws {
            let shim = try await WallClockShim()
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: shim.environment)
            try await scene.logIn()
            let shown = try #require(try await scene.agent.status("work")["expires_at"]?.integer)
            try shim.set(50)
            guard try await scene.agent.status("work")["expires_at"]?.integer != shown else {
                try Test.cancel("the agent loads no foreign library")
            }
            var token = try await scene.token()
            #expect(scene.refreshes == 0)
            // Forward, back, forward, back.
            for (step, refreshes) in [(86_400, 1), (-86_400, 1), (300, 2), (-300, 2)] {
                let before = token
                try shim.set(step)
                token = try await scene.token()
                #expect((token != before) == (step > 0))
                #expect(scene.refreshes == refreshes)
                #expect(try await scene.token() == token)
                let status = try await scene.agent.status("work")
                #expect(status["state"] == "ready")
                let moved = try #require(status["expires_at"]?.integer) - shown
                #expect(abs(moved - Int64(step)) <= 30)
            }
            // And in the middle of a refresh.
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(4, to: "/token", within: .seconds(120)))
            try shim.set(-86_400)
            scene.issuer.release()
            #expect(try await refresh.finish().status == 0)
            #expect(try await scene.token() != token)
            #expect(scene.refreshes == 3)
            Attachment.record("4 steps of up to a day, 2 refreshes", named: "figure")
        }

        @Test(arguments: [
            ("Thu, 01 Jan 2026 03:00:00 GMT", "ahead of"), ("Fri, 01 Jan 2100 00:00:00 GMT", "behind"),
        ])
        func `doctor compares the clock with those of the servers`(date: String, side: String) async throws {
            let scene = try await Scene()
            let issuer = scene.issuer.issuer
            let metadata: JSONObject = [
                "issuer": .string(issuer), "token_endpoint": .string("\(issuer)/token"),
                "jwks_uri": .string("\(issuer)/jwks"),
            ]
            scene.issuer.add(
                Route("GET", "/.well-known/openid-configuration") { _ in
                    IssuerResponse(
                        headers: [("Content-Type", "application/json"), ("Date", date)],
                        body: JSONValue.object(metadata).serialized
                    )
                }
            )
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("doctor")
            #expect(result.standardOutput.contains(" \(side) the servers: "), "\(result)")
            #expect(result.standardOutput.contains("timedatectl set-ntp true"), "\(result)")
        }

        /// A step itself cannot be tested, because it would change the clock of the whole machine.
        @Test(.enabled(if: TestUser.isRoot, "only root reads the timers of an undumpable process"))
        func `the kernel is asked to tell of steps of the wall clock`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            // TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET, on CLOCK_REALTIME.
            #expect(
                timers(pid).contains { $0.contains("clockid: 0\n") && $0.contains("settime flags: 03") }
            )
        }

        @Test(
            .holds("111"),
            .enabled(if: TestUser.isRoot, "only root reads the timers of an undumpable process")
        )
        func `an agent whose next refresh is two months away looks at the clock all the same`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(60 * 24 * 3600) }
            let pid = try #require(scene.agent.agent?.pid)
            let timers = try await Polling.value { () -> [Int]? in
                let found = armedTimers(pid)
                return found.isEmpty ? nil : found
            }
            let soonest = try #require(timers?.min())
            #expect(soonest <= 30)
            #expect((timers ?? []).allSatisfy { $0 <= 3600 })
            Attachment.record("the next look at the clock within \(soonest + 1) s", named: "figure")
        }

        /// Returns the seconds until each timer of the process fires.
        ///
        /// The timer that detects changes of the wall clock is not included.
        private func armedTimers(_ pid: Int32) -> [Int] {
            timers(pid).filter { !$0.contains("settime flags: 03") }.compactMap { text in
                let line = text.split(separator: "\n").first { $0.hasPrefix("it_value: (") }
                let seconds = line?.dropFirst("it_value: (".count).prefix { $0 != "," }
                guard let line, !line.hasSuffix("(0, 0)") else { return nil }
                return seconds.flatMap { Int($0) }
            }
        }

        /// Returns the kernel's description of each timer of the process.
        private func timers(_ pid: Int32) -> [String] {
            let directory = "/proc/\(pid)/fdinfo"
            let texts = File.names(in: directory).compactMap { File.text("\(directory)/\($0)") }
            return texts.filter { $0.contains("it_value: (") }
        }
    }
}
