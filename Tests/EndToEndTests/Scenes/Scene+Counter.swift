// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A counter outside of the store, and copies of the store.
extension Scene {
    private var counterPath: String { agent.home.path("counter") }

    /// The value of the counter, or `nil` if it cannot be read.
    var counter: Int? {
        File.text(agent.home.path("counter.value")).flatMap { Int($0.prefix { $0 != "\n" }) }
    }

    /// Creates a counter with the value `value`.
    func makeCounter(at value: Int) throws {
        try agent.home.write("\(value)\n", to: "counter.value")
        try repairCounter()
    }

    /// Replaces the counter by one that works.
    func repairCounter() throws { try breakCounter("") }

    /// Replaces the counter by one with further `cases` of a shell script, which works in all other cases.
    func breakCounter(_ cases: String) throws {
        let script = """
            #!/bin/sh
            case $1 in
            \(cases)
            read) ;;
            increment) echo $(($(cat "$0.value") + 1)) >"$0.new" && mv "$0.new" "$0.value";;
            esac
            cat "$0.value"

            """
        try agent.home.write(script, to: "counter.next", mode: 0o700)
        try #require(Program.succeeds("mv -f '\(counterPath).next' '\(counterPath)'"))
    }

    /// Writes the configuration with the counter, or without.
    func configureCounter(isOn: Bool = true, accepting accepted: Int? = nil, command: [String]? = nil) throws
    {
        let command = (command ?? [counterPath]).map { "\"\($0)\"" }.joined(separator: ", ")
        try agent.configure(
            """
            [vault]
            \(isOn ? "rollback_counter = [\(command)]" : "")
            \(accepted.map { "rollback_counter_accept = \($0)" } ?? "")

            """ + Scene.session("work", issuer)
        )
    }

    /// Waits until the agent has completed the increment after its start, and returns the value of the counter.
    func settledCounter() async throws -> Int {
        let value = try await Polling.value { () -> Int? in
            guard let counter, counter > 0 else { return nil }
            let report = try await agent.socket.request("GET", "/v1/doctor").text
            return report.contains("are rejected (\(counter))") ? counter : nil
        }
        return try #require(value, "\(agent.log)")
    }

    /// Locks and unlocks the agent, which increments the counter each time, until its value exceeds `value`.
    func moveCounter(past value: Int, reading counter: () async throws -> Int?) async throws {
        for _ in 0..<5 {
            #expect(try await agent.tokenctl("lock").status == 0)
            #expect(try await agent.tokenctl("unlock").status == 0)
            if try await Polling.until(within: .seconds(5), { try await (counter() ?? 0) > value }) { return }
        }
        Issue.record("the counter did not move beyond \(value): \(agent.log)")
    }

    /// The number in the remedy of the last rejection in the log.
    var offeredNumber: Int? {
        agent.log.split(separator: "rollback_counter_accept = ").dropFirst().last
            .flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// Copies the store to the directory `name`.
    func copyStore(to name: String) async throws {
        let done = try await agent.shell("cp -a '\(agent.statePath)' \"$HOME/\(name)\"")
        try #require(done.status == 0, "\(done.standardError)")
    }

    /// Replaces the store by the copy `name`.
    func putBackStore(_ name: String) async throws {
        let script = "rm -rf '\(agent.statePath)' && cp -a \"$HOME/\(name)\" '\(agent.statePath)'"
        let done = try await agent.shell(script)
        try #require(done.status == 0, "\(done.standardError)")
    }

    /// Returns `true` if vault, manifest and records are equal to those of the copy `name`.
    func storeIs(_ name: String) async throws -> Bool {
        let script = """
            cd '\(agent.statePath)' && for file in vault manifest keyfile sessions; do
                diff -r "$file" "$HOME/\(name)/$file" || exit 1
            done
            """
        return try await agent.shell(script).status == 0
    }

    /// Expects a locked agent that reports `reason` in its log, to `unlock` and to `doctor`.
    func expectRefusal(saying reason: String, sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        #expect(try await agent.tokenctl("get", "work").status == 6, sourceLocation: sourceLocation)
        #expect(agent.log.contains(reason), "\(agent.log)", sourceLocation: sourceLocation)
        let unlocking = try await agent.tokenctl("unlock")
        #expect(unlocking.status == 1, sourceLocation: sourceLocation)
        #expect(
            unlocking.standardError.contains(reason),
            "\(unlocking.standardError)",
            sourceLocation: sourceLocation
        )
        let doctor = try await agent.tokenctl("doctor").standardOutput
        #expect(doctor.contains(reason), "\(doctor)", sourceLocation: sourceLocation)
    }
}
