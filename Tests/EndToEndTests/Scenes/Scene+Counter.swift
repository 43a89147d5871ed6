// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A counter outside of the store, and copies of the store.
extension Scene {
    private var counterPath: String { agent.home.path("counter") }

    /// What the counter says.
    var counter: Int? {
        File.text(agent.home.path("counter.value")).flatMap { Int($0.prefix { $0 != "\n" }) }
    }

    /// Makes a counter of a file that says `value`.
    func makeCounter(at value: Int) throws {
        try agent.home.write("\(value)\n", to: "counter.value")
        try repairCounter()
    }

    /// A counter that does as it should.
    func repairCounter() throws { try breakCounter("") }

    /// A counter that behaves as `cases` of the shell say, and for the rest as it should.
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

    /// What the counter says once the agent has taken the step after its start and heard the answer.
    func settledCounter() async throws -> Int {
        let value = try await Polling.value { () -> Int? in
            guard let counter, counter > 0 else { return nil }
            let report = try await agent.socket.request("GET", "/v1/doctor").text
            return report.contains("is refused (\(counter))") ? counter : nil
        }
        return try #require(value, "\(agent.log)")
    }

    /// Has the counter move beyond `value`, whatever step is under way: each unlocking asks for one.
    func moveCounter(past value: Int, reading counter: () async throws -> Int?) async throws {
        for _ in 0..<5 {
            #expect(try await agent.tokenctl("lock").status == 0)
            #expect(try await agent.tokenctl("unlock").status == 0)
            if try await Polling.until(within: .seconds(5), { try await (counter() ?? 0) > value }) { return }
        }
        Issue.record("the counter did not move beyond \(value): \(agent.log)")
    }

    /// The number that the last refusal says to set.
    var offeredNumber: Int? {
        agent.log.split(separator: "rollback_counter_accept = ").dropFirst().last
            .flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// Keeps a copy of the store.
    func copyStore(to name: String) async throws {
        let done = try await agent.shell("cp -a '\(agent.statePath)' \"$HOME/\(name)\"")
        try #require(done.status == 0, "\(done.standardError)")
    }

    /// Puts a copy in place of the store.
    func putBackStore(_ name: String) async throws {
        let script = "rm -rf '\(agent.statePath)' && cp -a \"$HOME/\(name)\" '\(agent.statePath)'"
        let done = try await agent.shell(script)
        try #require(done.status == 0, "\(done.standardError)")
    }

    /// Whether vault, manifest and records are those of the copy.
    func storeIs(_ name: String) async throws -> Bool {
        let script = """
            cd '\(agent.statePath)' && for file in vault manifest keyfile sessions; do
                diff -r "$file" "$HOME/\(name)/$file" || exit 1
            done
            """
        return try await agent.shell(script).status == 0
    }

    /// Expects a locked agent that says `reason` in its log, at an unlocking and in the diagnosis.
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
