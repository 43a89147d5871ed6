// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import AgentServer

/// Peers that misbehave, which must not disturb other peers.
@Suite(.timeLimit(.minutes(10)))
struct PeersTests {
    @Test(.holds("3"), .enabled(if: geteuid() == 0, "only root can become another user"))
    func `a peer of another user is refused before a byte is read`() async throws {
        let agent = try await AgentHarness()
        // Only the check of the peer's user keeps it out.
        chmod(agent.directory.path, 0o755)
        chmod(agent.directory.path("run"), 0o755)
        chmod(agent.path, 0o666)
        let curl = ["curl", "-sv", "--unix-socket", agent.path, "http://tokenagent/v1"]
        let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        let ours = try Program(curl, environment: environment)
        let answered = try await ours.finish()
        #expect(answered.standardOutput.contains("1.2.3"))
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let theirs = try Program(nobody + curl, environment: environment)
        let result = try await theirs.finish()
        // It may connect, and finds the connection closed before, while or after it sends.
        #expect([7, 52, 55, 56].contains(result.status), "\(result)")
        #expect(!result.standardError.contains("ermission denied"))
        #expect(result.standardOutput == "")
        await agent.stop()
    }

    @Test(
        .holds("11"),
        .enabled(if: TestEnvironment.isFull, "needs a quiet machine; set TOKENAGENT_TEST_FULL=1")
    )
    func `four thousand idle connections starve nobody`() async throws {
        let agent = try await AgentHarness()
        let flood = try (0..<4_000).map { _ in try agent.peer() }
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<100 {
            let start = clock.now
            #expect(try await agent.peer().exchange("GET", "/v1").status == 200)
            times.append(clock.now - start)
        }
        times.sort()
        Attachment.record("100 of 100 served, p99 \(times[98])", named: "figure")
        #expect(times[98] < .seconds(20))
        _ = flood.count
        await agent.stop()
    }

    @Test(
        .holds("11"),
        .enabled(if: TestEnvironment.isFull, "needs a quiet machine; set TOKENAGENT_TEST_FULL=1")
    )
    func `a burst of two thousand peers of one process is answered to the last`() async throws {
        let agent = try await AgentHarness()
        let request = SocketPeer.request("GET", "/v1")
        // All connect before the first of them asks.
        let peers = try (0..<2_000).map { _ in try agent.peer() }
        for peer in peers { try peer.send(request) }
        for peer in peers { #expect(try await peer.answer().status == 200) }
        Attachment.record("\(peers.count) of \(peers.count) answered", named: "figure")
        await agent.stop()
    }

    /// In a process of its own: no other test opens descriptors there.
    @Test(.holds("13")) func `peers that die at any moment leave no descriptor behind`() async {
        await #expect(processExitsWith: .success) {
            let agent = try await AgentHarness()
            try await agent.logIn()
            let request = SocketPeer.request("GET", "/v1/sessions/work/token")
            let isWarm = try await agent.peer().exchange("GET", "/v1").status == 200
            let descriptors = { @Sendable in File.names(in: "/proc/self/fd").count }
            // Waits until the descriptors of the login and of the request above are closed.
            _ = try await Polling.until(within: .seconds(2)) { descriptors() <= 10 }
            let before = descriptors()
            for length in 0..<(TestEnvironment.isFull ? 5_000 : 500) {
                let peer = try agent.peer()
                try peer.send(String(request.prefix(length % (request.count + 1))))
                if length % 3 == 0 { peer.leave() }
            }
            let serves = try await agent.peer().exchange("GET", "/v1").status == 200
            let isClean = try await Polling.until { descriptors() <= before }
            await agent.stop()
            exit(isWarm && serves && isClean ? EXIT_SUCCESS : EXIT_FAILURE)
        }
        let count = TestEnvironment.isFull ? 5_000 : 500
        Attachment.record("\(count) peers gone, as many descriptors as before", named: "figure")
    }

    @Test func `a flood of pipelined requests is answered in order`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        let targets = (0..<300).map { $0 % 2 == 0 ? "/v1" : "/v1/sessions" }
        let flood = targets.map { SocketPeer.request("GET", $0) }.joined()
        let sending = Task.detached { try peer.send(flood) }
        for target in targets {
            let body = try await peer.answer().body
            #expect(body.hasPrefix(target == "/v1" ? "{\"version\"" : "{\"sessions\""))
        }
        try await sending.value
        await agent.stop()
    }

    @Test func `a peer that sends without reading is stopped while others are served`() async throws {
        let agent = try await AgentHarness()
        let greedy = try agent.peer()
        greedy.setNonBlocking()
        let request = SocketPeer.request("GET", "/v1/sessions")
        var sent = 0
        // Sends until the agent accepts no more, because both buffers are full.
        while (try? greedy.send(request)) != nil, sent < 100_000 { sent += 1 }
        #expect(sent < 100_000)
        #expect(try await agent.peer().exchange("GET", "/v1").status == 200)
        await agent.stop()
    }

    @Test(.holds("16")) func `a socket file that was removed is made again`() async throws {
        let agent = try await AgentHarness()
        unlink(agent.path)
        #expect(throws: SystemFailure.self) { try agent.peer() }
        await agent.runtime.housekeep()
        #expect(try await Polling.until { (try? agent.peer()) != nil })
        #expect(File.mode(agent.path) == 0o600)
        #expect(try await agent.peer().exchange("GET", "/v1").status == 200)
        await agent.stop()
        #expect(!File.exists(agent.path))
    }

    @Test(.holds("16")) func `a socket whose directory is gone moves to its reserve, and others are told`()
        async throws
    {
        let moved = MovedSockets()
        let agent = try await AgentHarness(reserve: moved)
        let reserve = agent.directory.path("state/run/agent.sock")
        // As after a logout, when nobody can make the directory again.
        try #require(Program.succeeds("rm -r '\(agent.directory.path("run"))'"))
        try agent.directory.write("", to: "run")
        for _ in 0..<2 {
            await agent.runtime.housekeep()
            #expect(moved.paths == [reserve])
            #expect(try await SocketPeer(reserve).exchange("GET", "/v1").status == 200)
        }
        #expect(File.mode(reserve) == 0o600)
        await agent.stop()
        #expect(!File.exists(reserve))
    }

    @Test(.holds("16")) func `an agent whose place another has taken stops instead of competing`()
        async throws
    {
        let agent = try await AgentHarness()
        unlink(agent.path)
        let other = try ListeningSocket.bind(to: agent.path)
        defer { close(other.descriptor) }
        await agent.runtime.housekeep()
        await agent.runtime.waitUntilStopRequested()
        await agent.stop()
        #expect(other.isInPlace)
    }
}
