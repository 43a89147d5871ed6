// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct ClockTests {
        @Test func `a step of the wall clock brings no refresh and changes only what is shown`() async throws
        {
            let shim = try await WallClockShim()
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: shim.environment)
            try await scene.logIn()
            let token = try await scene.token()
            let shown = try #require(try await scene.agent.status("work")["expires_at"]?.integer)
            try shim.set(300)
            guard try await scene.agent.status("work")["expires_at"]?.integer != shown else {
                try Test.cancel("the agent loads no foreign library")
            }
            for step in [86_400, -86_400, 300, -300] {
                try shim.set(step)
                #expect(try await scene.token() == token)
                let status = try await scene.agent.status("work")
                #expect(status["state"] == "ready")
                let moved = try #require(status["expires_at"]?.integer) - shown
                #expect(abs(moved - Int64(step)) <= 2)
            }
            #expect(scene.refreshes == 0)
            // And in the middle of a refresh.
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            try shim.set(-86_400)
            scene.issuer.release()
            #expect(try await refresh.finish().status == 0)
            #expect(try await scene.token() != token)
            #expect(scene.refreshes == 1)
            Attachment.record("4 steps of up to a day, 0 refreshes", named: "figure")
        }

        @Test(.enabled(if: TestUser.isRoot, "only root reads the timers of an undumpable process"))
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

        /// Seconds until each timer of the process goes off.
        private func armedTimers(_ pid: Int32) -> [Int] {
            let directory = "/proc/\(pid)/fdinfo"
            return File.names(in: directory).compactMap { File.text("\(directory)/\($0)") }.compactMap {
                text in
                let line = text.split(separator: "\n").first { $0.hasPrefix("it_value: (") }
                let seconds = line?.dropFirst("it_value: (".count).prefix { $0 != "," }
                guard let line, !line.hasSuffix("(0, 0)") else { return nil }
                return seconds.flatMap { Int($0) }
            }
        }
    }
}
