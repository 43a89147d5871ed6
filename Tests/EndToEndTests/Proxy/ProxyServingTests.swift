// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// The clients that a proxy serves, and its behavior without its agent.
    @Suite struct ProxyServingTests {
        @Test(.holds("230")) func `programs do not wait for an agent that is stopped`() async throws {
            let scene = try await ProxyScene.start()
            #expect(try await scene.status() == "200")
            let pid = try #require(scene.agent.agent?.pid)
            kill(pid, SIGSTOP)
            defer { kill(pid, SIGCONT) }
            let start = ContinuousClock.now
            let answers = try await scene.agent.shell(
                "seq 3 | xargs -P 3 -I{} curl -s -o /dev/null -w '%{http_code}\\n' --max-time 60 '\(scene.url)/{}'"
            )
            #expect(answers.standardOutput == "503\n503\n503\n", "\(answers)")
            // Four seconds, then three more for a sign of life.
            #expect(ContinuousClock.now - start < .seconds(30))
            kill(pid, SIGCONT)
            #expect(try await Polling.until { try await scene.status() == "200" })
        }

        @Test(.holds("230")) func `a token that takes long is waited for while the agent is there`()
            async throws
        {
            let scene = try await ProxyScene.start()
            let first = try await scene.scene.token()
            scene.scene.issuer.settings.delay = .seconds(9)
            async let refresh = scene.agent.tokenctl(
                "refresh",
                "work",
                "--rejected-stdin",
                input: first + "\n"
            )
            #expect(try await Polling.until { try await scene.agent.hasWaiters(1) })
            #expect(try await scene.status() == "200")
            #expect(try await refresh.status == 0)
        }

        @Test(.holds("232")) func `a session that a reload takes away is not used once more`() async throws {
            let upstream = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let scene = try await Scene()
            let plain = try #require(File.text(scene.agent.configurationPath))
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            try scene.agent.configure(
                """
                \(plain)
                [[proxy]]
                name = "api"
                listen = "127.0.0.1:0"
                upstream = "\(upstream.url)"
                session = "z"
                """
            )
            try await scene.agent.start()
            try await scene.logIn("z")
            let proxy = try scene.agent.startTokenctl(["proxy"])
            let url = String(try await proxy.outputLine(containing: "api ").dropFirst("api ".count))
            let fetch = "curl -s -o /dev/null -w '%{http_code} ' --max-time 60 '\(url)/'"
            // The listener stays: its own table is read at its own reload.
            try scene.agent.configure(plain)
            let result = try await scene.agent.shell(
                "\(fetch); rm '\(scene.sessionFile("z"))'; \(fetch); tokenctl reload >/dev/null; \(fetch)"
            )
            let statuses = result.standardOutput.split(separator: " ")
            #expect(statuses.count == 3 && statuses.prefix(2) == ["200", "200"], "\(result)")
            #expect(statuses.last != "200", "\(result)")
            #expect(upstream.requests.count == 2)
        }

        private static let stranger = "setpriv --reuid 65534 --regid 65534 --clear-groups"

        @Test(
            .holds("232"),
            .enabled(if: TestUser.isRoot, "only root can become somebody else"),
            arguments: [false, true]
        )
        func `another user is served where the table names it`(isNamed: Bool) async throws {
            let scene = try await ProxyScene.start(keys: isNamed ? "users = [\"65534\"]" : "")
            let fetch = "curl -s -o /dev/null -w '%{http_code}' --max-time 60 '\(scene.url)/'"
            let result = try await scene.agent.shell("\(Self.stranger) \(fetch)")
            #expect(result.standardOutput == (isNamed ? "200" : "000"), "\(result)")
            #expect(scene.upstream.requests.count == (isNamed ? 1 : 0))
            #expect(try await scene.status() == "200")
        }
    }
}
