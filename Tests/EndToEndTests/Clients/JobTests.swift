// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

private let isOff: Comment = "only root can show the agent another list of authorities"

extension EndToEnd {
    /// Clients that a job of GitHub Actions vouches for, against a double: no runner of GitHub's can be run here.
    @Suite(.enabled(if: JobScene.isAvailable, isOff)) struct JobTests {
        @Test(.holds("205")) func `a job's own token proves the client, another one for each request`()
            async throws
        {
            let scene = try await JobScene()
            try await scene.start()
            #expect(try await scene.agent.reaches("ready", "work"), "\(scene.agent.log)")
            var seen: Set<String> = [try await scene.agent.tokenctl("get", "work").line]
            for _ in 0..<2 {
                let refreshed = try await scene.agent.tokenctl("refresh", "work")
                #expect(refreshed.status == 0, "\(refreshed) \(scene.agent.log)")
                seen.insert(try await scene.agent.tokenctl("get", "work").line)
            }
            #expect(seen.count == 3)
            // Each names the very address it was sent to, and none is sent twice.
            #expect(scene.double.audiences == Array(repeating: "\(scene.issuer.issuer)/token", count: 3))
            let sent = scene.issuer.requests(to: "/token")
            #expect(Set(sent.compactMap { $0.form["client_assertion"] }).count == 3)
            #expect(sent.allSatisfy { $0.header("authorization") == nil })
            // The job's own secret goes to the host of the job alone.
            let told = scene.issuer.requests().map { String(decoding: $0.body, as: UTF8.self) }
            #expect(!told.contains { $0.contains(scene.double.bearer) })
            #expect(!scene.agent.log.contains(scene.double.bearer))
        }

        @Test(.holds("205")) func `the audience is the one that the configuration names`() async throws {
            let scene = try await JobScene(more: "client_assertion_audience = \"api://tokens\"")
            try await scene.start()
            // This issuer wants its own address there.
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused) \(scene.agent.log)")
            #expect(refused.standardError.contains("invalid_client"), "\(refused)")
            #expect(Set(scene.double.audiences) == ["api://tokens"])
        }

        @Test(.holds("205")) func `a secret that is not the job's brings nothing, and nothing is sent`()
            async throws
        {
            let scene = try await JobScene()
            try await scene.start(bearer: "another-job")
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status == 2 && refused.complainsInOneLine, "\(refused) \(scene.agent.log)")
            #expect(refused.standardError.contains("id-token: write"), "\(refused)")
            #expect(scene.issuer.requests(to: "/token").isEmpty)
            #expect(!scene.host.requests(to: "/idtoken").isEmpty)
        }

        @Test(.holds("205")) func `neither hooks nor commands are given what the job can be with`()
            async throws
        {
            let files = try TemporaryDirectory()
            let (hook, command) = (files.path("hook"), files.path("command"))
            let scene = try await JobScene(
                tables: """
                    [hooks]
                    event = ["sh", "-c", 'env >"$0.new" && mv "$0.new" "$0"', "\(hook)"]
                    [session.tool]
                    kind = "command"
                    command = ["sh", "-c", 'env >"$0"; echo a-token', "\(command)"]
                    """
            )
            try await scene.start()
            #expect(try await scene.agent.reaches("ready", "work"), "\(scene.agent.log)")
            #expect(try await scene.agent.tokenctl("get", "tool").line == "a-token")
            #expect(try await Polling.until { File.exists(hook) })
            for file in [hook, command] {
                let text = try #require(File.text(file))
                #expect(text.contains("PATH=") && !text.contains("ACTIONS_ID_TOKEN"), "\(text)")
            }
            let pid = try #require(SocketOwner.pid(scene.agent.socketPath))
            let own = File.bytes("/proc/\(pid)/environ") ?? []
            #expect(!String(decoding: own, as: UTF8.self).contains(scene.double.bearer))
        }

        @Test(.holds("205")) func `what locks the agent takes the job's secret from it`() async throws {
            let scene = try await JobScene()
            try await scene.start()
            #expect(try await scene.agent.reaches("ready", "work"), "\(scene.agent.log)")
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            let before = scene.double.audiences.count
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status == 2 && refused.complainsInOneLine, "\(refused)")
            #expect(
                refused.standardError.contains("in an agent that a job with the permission"),
                "\(refused)"
            )
            #expect(scene.double.audiences.count == before)
        }
    }
}
