// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// An agent and an issuer in a network of their own, which can be switched off.
struct NetworkScene {
    /// Whether network namespaces can be created on this machine.
    static let isAvailable = Program.succeeds("unshare -n ip link set lo up")

    let agent: AgentUnderTest
    private let network: Program
    private let issuer: Program

    /// Starts both, and logs in.
    init() async throws {
        let environment = ["PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        network = try Program(
            ["unshare", "-n", "sh", "-c", "ip link set lo up && echo ready && exec tail -f /dev/null"],
            environment: environment
        )
        _ = try await network.outputLine(containing: "ready")
        let inside = ["nsenter", "-t", "\(network.pid)", "-n"]
        issuer = try Program(
            inside + [BuiltPrograms.issuer, "--access-ttl", "600", "--ignore-standard-input"],
            environment: environment
        )
        let announcement = try await issuer.outputLine(containing: "issuer")
        let address = try #require(JSONValue(parsing: announcement.utf8).object?["issuer"]?.string)
        agent = try AgentUnderTest(
            configuration: """
                [agent]
                get_timeout = "5m"
                [session.work]
                kind = "oidc"
                issuer = "\(address)"
                client_id = "demo-public"
                scopes = ["openid", "offline_access", "api"]
                flow = "password"

                """
        )
        try await agent.start(wrapper: inside)
        let login = try await agent.tokenctl(
            "login",
            "work",
            "--username",
            "alice",
            "--password-stdin",
            input: "alice-password\n"
        )
        try #require(login.status == 0, "\(login.standardError) \(agent.log)")
    }

    func turn(_ state: String) async throws {
        let result = try await Program.run(
            ["nsenter", "-t", "\(network.pid)", "-n", "ip", "link", "set", "lo", state],
            environment: ["PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        )
        try #require(result.status == 0, "\(result.standardError)")
    }

    /// The number of attempts so far that could not reach the issuer.
    func failures() async throws -> Int64 {
        try await agent.status("work")["failures"]?.object?["unreachable"]?.integer ?? 0
    }

    func refreshes() async throws -> Int64 {
        try await agent.status("work")["refreshes"]?.integer ?? 0
    }

    /// Waits until `duration` has passed, because the kernel reports no event for what the test waits for.
    func passes(_ duration: Duration) async throws {
        let end = ContinuousClock.now + duration
        _ = try await Polling.until(within: duration * 10) { ContinuousClock.now >= end }
    }
}
