// SPDX-License-Identifier: MIT

import CommandClient
import Synchronization
import TestSupport
import Testing
import TokenCore

/// A runner whose commands end when the test says so.
private final class HeldCommands: CommandRunning {
    private struct Run {
        var command: [String]
        var end: CheckedContinuation<CommandResult, Never>
    }

    private let runs = Mutex<[Run]>([])
    private let begun = Mutex<[[String]]>([])

    /// Every command that was begun, in order.
    var all: [[String]] { begun.withLock { $0 } }
    var running: Int { runs.withLock { $0.count } }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        await withCheckedContinuation { end in
            begun.withLock { $0.append(command) }
            runs.withLock { $0.append(Run(command: command, end: end)) }
        }
    }

    /// Ends the oldest run of `command`.
    func finish(_ command: [String], _ status: Int32) {
        let run = runs.withLock { runs in
            runs.firstIndex { $0.command == command }.map { runs.remove(at: $0) }
        }
        run?.end.resume(returning: CommandResult(status: status, standardOutput: Array("\(status)".utf8)))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct SerialCommandsTests {
    private let pass = ["pass", "show", "cli"]

    private func start(_ count: Int, _ commands: SecretCommandRunner) -> [Task<CommandResult, any Error>] {
        (0..<count).map { _ in
            Task { try await commands.run(pass, environment: [:], timeLimit: .seconds(30)) }
        }
    }

    @Test(.holds("213")) func `a program is never run twice at once, and a failure is shared`() async throws {
        let held = HeldCommands()
        let commands = SecretCommandRunner(held)
        let first = start(1, commands)
        #expect(try await Polling.until { held.running == 1 })
        let rest = start(5, commands)
        #expect(try await Polling.until { await commands.waitingCount == 5 })
        #expect(held.running == 1)
        held.finish(pass, 2)
        for task in first + rest { #expect(try await task.value.status == 2) }
        #expect(held.all.count == 1)
        // The next request runs it again.
        let next = start(1, commands)
        #expect(try await Polling.until { held.running == 1 })
        held.finish(pass, 0)
        #expect(try await next[0].value.status == 0)
    }

    @Test func `after a success each request has a run of its own`() async throws {
        let held = HeldCommands()
        let commands = SecretCommandRunner(held)
        let tasks = start(3, commands)
        for done in 1...3 {
            #expect(try await Polling.until { held.all.count == done && held.running == 1 })
            held.finish(pass, 0)
        }
        for task in tasks { #expect(try await task.value.standardOutput == Array("0".utf8)) }
    }

    @Test func `other programs do not wait`() async throws {
        let held = HeldCommands()
        let commands = SecretCommandRunner(held)
        let first = start(1, commands)
        let other = Task { try await commands.run(["other"], environment: [:], timeLimit: .seconds(30)) }
        #expect(try await Polling.until { held.running == 2 })
        held.finish(["other"], 0)
        #expect(try await other.value.status == 0)
        held.finish(pass, 0)
        #expect(try await first[0].value.status == 0)
    }
}
