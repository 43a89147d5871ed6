// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

extension FleetDouble {
    /// Writes a record as another host that logs in, or that refreshes with the next generation of a login.
    ///
    /// `epoch` is the epoch of the host's key.
    func write(login: UInt64, generation: UInt64, token: String, epoch: UInt32 = 1) {
        let attempt = AttemptID(host: 2, random: login << 32 | generation)
        let header = FleetHeader(
            lineage: Lineage(number: login, id: UInt128(login)),
            generation: generation,
            attempt: attempt,
            status: .live,
            proven: 0,
            tokenMark: attempt.random,
            cluster: 1
        )
        let tokens = Tokens(access: Array(token.utf8), refresh: Array("refresh-\(token)".utf8))
        state.withLock { state in
            state.tokens[attempt] = tokens
            state.view.record = header
            state.epoch = epoch
            (state.view.intent, state.view.lock) = (nil, nil)
        }
        changed()
    }

    /// Writes the lock and the intent of another host whose refresh is in flight.
    func beginRefresh() {
        state.withLock { state in
            guard let record = state.view.record else { return }
            let attempt = AttemptID(host: 2, random: 99)
            state.view.lock = attempt
            state.view.intent = FleetIntent(
                lineage: record.lineage,
                generation: record.generation,
                attempt: attempt,
                at: state.view.time,
                first: state.view.time,
                before: []
            )
        }
        changed()
    }
}

extension AgentHarness {
    /// Starts an agent that shares `work` through `fleet`.
    static func sharing(
        _ fleet: FleetDependencies,
        memory: SealedMemory,
        endings: [String] = []
    ) async throws -> AgentHarness {
        try await AgentHarness(
            memory: memory,
            fleet: fleet,
            configure: { configuration, _ in
                var policy = SessionPolicy()
                policy.isShared = true
                configuration.sessions[work] = SessionSettings(
                    policy: policy,
                    kind: "oidc",
                    issuer: "https://id.example",
                    fingerprint: "1",
                    endings: endings
                )
                configuration.sessions[work]?.policy.isReader = fleet.role == .reader
                configuration.sessions[work]?.fleetBinding = FleetDouble.binding
            }
        )
    }

    /// Returns the token of `work` that the agent serves, `token-1` or `token-2`, or `nil` if it serves neither.
    func sharedToken() async throws -> String? {
        let answer = try await peer().exchange("GET", "/v1/sessions/work/token")
        guard answer.status == 200 else { return nil }
        return ["token-1", "token-2"].first { answer.body.contains("\"\($0)\"") }
    }

    /// Starts an agent that has adopted the other host's login, whose token is `token-1`.
    static func adopting(
        from fleet: FleetDouble,
        memory: SealedMemory,
        endings: [String] = []
    ) async throws -> AgentHarness {
        let agent = try await sharing(fleet.port, memory: memory, endings: endings)
        #expect(try await Polling.until { try await agent.sharedToken() == "token-1" })
        return agent
    }
}
