// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Commands at a socket that accepts connections and never answers.
@Suite struct `A silent socket` {
    @Test(arguments: [
        (["get", "work", "--timeout", "1s"], Duration.seconds(2)),
        (["status", "--check"], .seconds(2)), (["status", "--check", "work"], .seconds(2)),
        (["get", "work"], .seconds(31)), (["get", "work", "--no-wait", "--json"], .seconds(5)),
        (["status"], .seconds(5)), (["list"], .seconds(5)), (["refresh", "work"], .seconds(5)),
        (["login", "work"], .seconds(5)), (["logout", "work", "--local"], .seconds(5)),
        (["watch"], .seconds(5)), (["audit"], .seconds(5)), (["lock"], .seconds(5)),
        (["reload"], .seconds(5)), (["shutdown"], .seconds(5)), (["claims", "work"], .seconds(31)),
    ])
    func `hangs no command`(arguments: [String], limit: Duration) async throws {
        let tokenctl = try TokenctlRun(.hang)
        let clock = ContinuousClock()
        // How long a command takes here that asks nobody: on a busy machine, seconds.
        let start = clock.now
        _ = try await tokenctl.run(["--version"])
        let middle = clock.now
        let result = try await tokenctl.run(arguments)
        // Before, each of these took 6 s to an hour.
        #expect(clock.now - middle < limit + .seconds(3) + (middle - start) * 5)
        #expect(result.status == 5, "\(result)")
        let isQuiet = arguments.contains("--check")
        #expect(result.standardError.contains("no response from the agent at") != isQuiet, "\(result)")
    }

    @Test func `is a problem that doctor names`() async throws {
        let tokenctl = try TokenctlRun(.hang)
        let result = try await tokenctl("doctor")
        #expect(result.status == 1)
        #expect(result.standardOutput.contains("problem  agent: "), "\(result)")
        #expect(result.standardOutput.contains("no response from the agent at"), "\(result)")
        #expect(!result.standardOutput.contains("tokenctl doctor"), "\(result)")
    }
}
