// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

/// The process that guards a request of an agent.
struct GuardProcess {
    let pid: pid_t

    /// That of an agent that is killed while its server has replaced the refresh token of `work` and holds its answer back.
    static func left(by agent: AgentUnderTest, _ issuer: DemoIssuer) async throws -> GuardProcess {
        issuer.queue(Disturbance(isHeld: true))
        issuer.forgetRequests()
        let refresh = try agent.startTokenctl(["refresh", "work"])
        #expect(await issuer.hasReceived(1, to: "/token", within: .seconds(120)))
        let exchange = try #require(try await find(of: agent))
        try await agent.kill()
        try await refresh.finish()
        return exchange
    }

    /// That of a running agent, once there is one: a child of the agent's child, by its name.
    static func find(of agent: AgentUnderTest) async throws -> GuardProcess? {
        try await Polling.value(within: .seconds(60)) { all(of: agent).first }
    }

    /// Those of a running agent.
    static func all(of agent: AgentUnderTest) -> [GuardProcess] {
        File.names(in: "/proc").compactMap { pid_t($0) }.filter { pid in
            guard File.text("/proc/\(pid)/cmdline") == "tokenagent-exchange\0" else { return false }
            return parent(of: pid).flatMap(parent) == agent.agent?.pid
        }.map(GuardProcess.init)
    }

    func signal(_ signal: Signal) {
        kill(pid, signal.number)
    }

    /// Waits until it is gone.
    func ends() async throws -> Bool {
        try await Polling.until(within: .seconds(60)) { kill(pid, 0) != 0 }
    }

    private static func parent(of pid: pid_t) -> pid_t? {
        // The name in parentheses may hold anything; the parent is the second field after it.
        let fields = File.text("/proc/\(pid)/stat")?.split(separator: ")").last?.split(separator: " ")
        return fields.flatMap { $0.count > 1 ? pid_t($0[1]) : nil }
    }
}
