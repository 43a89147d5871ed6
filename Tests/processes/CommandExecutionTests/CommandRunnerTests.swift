// SPDX-License-Identifier: MIT

import CommandExecution
import Glibc
import TestSupport
import Testing
import TokenCore

struct CommandRunnerTests {
    @Test func `a question about a process waits for no program`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let directory = try TemporaryDirectory()
            let waiting = ["sh", "-c", "until test -e \"$0\"; do sleep 0.05; done", directory.path("go")]
            // One more than run at the same time.
            try await runner.allow(waiting)
            let programs = (0...CommandLimits.concurrentCommands).map { _ in
                Task { try await runner.run(waiting, environment: [:], timeLimit: .seconds(100)) }
            }
            let facts = try await runner.client.examine(getpid(), digesting: [])
            #expect(facts.programs.count == 1)
            await #expect(throws: CommandFailure.self) {
                try await runner.client.examine(.max, digesting: [])
            }
            try directory.write("", to: "go")
            for program in programs { #expect(try await program.value.status == 0) }
        }
    }

    @Test func `output and exit status come back`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let result = try await runner.run(
                ["sh", "-c", "echo $TOKENAGENT_REASON; exit 3"],
                environment: ["TOKENAGENT_REASON": "hello"],
                timeLimit: .seconds(20)
            )
            #expect(result == CommandResult(status: 3, standardOutput: Array("hello\n".utf8)))
        }
    }

    @Test func `a home directory that does not exist is no hindrance`() async throws {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]
        try await RunnerUnderTest.with(environment: environment) { (runner) async throws in
            #expect(try await runner.output(of: "pwd") == "/\n")
        }
    }

    @Test(.holds("35")) func `the standard error comes back as one clean line, and goes nowhere else`()
        async throws
    {
        try await RunnerUnderTest.with { (runner) async throws in
            let script = "printf '\\033[31mno secret key\\033[0m\\nmore\\n' >&2; echo hunter2secret; exit 2"
            let result = try await runner.run(["sh", "-c", script])
            #expect(result.status == 2)
            #expect(result.complaint?.description == "no secret key")
            let quoting = try await runner.run(["sh", "-xc", "echo hunter2secret"])
            #expect(quoting.complaint?.description == "+ echo [redacted]")
            let silent = try await runner.run(["sh", "-c", "exit 2"])
            #expect(silent.complaint == nil)
            // Neither the runner's own standard error nor a terminal.
            let target = try await runner.output(of: "readlink", "/proc/self/fd/2")
            #expect(target.hasPrefix("pipe:"))
        }
    }

    @Test(.holds("35")) func `megabytes of standard error neither stop a program nor fill memory`()
        async throws
    {
        try await RunnerUnderTest.with { (runner) async throws in
            let script = "echo first >&2; head -c 4000000 /dev/zero >&2; echo done"
            let result = try await runner.run(["sh", "-c", script])
            #expect(result.standardOutput == Array("done\n".utf8))
            #expect(result.complaint?.description == "first")
        }
    }

    @Test func `a program that takes too long is named with what it said`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let said = CommandFailure(message: "sh timed out and was stopped: waiting for a finger")
            await #expect(throws: said) {
                try await runner.output(
                    of: "sh",
                    "-c",
                    "echo waiting for a finger >&2; sleep 1000",
                    limit: .milliseconds(700)
                )
            }
        }
    }

    @Test func `a program ended by a signal has 128 plus its number as status`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let result = try await runner.run(
                ["sh", "-c", "kill -9 $$"],
                environment: [:],
                timeLimit: .seconds(20)
            )
            #expect(result.status == 137)
        }
    }

    @Test func `arguments are never read by a shell`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            #expect(try await runner.output(of: "echo", "$HOME; `id`", "*") == "$HOME; `id` *\n")
        }
    }

    @Test(.holds("35")) func `a program inherits the runner's environment and no descriptors`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let names = try await runner.output(of: "env").split(separator: "\n").map {
                $0.prefix { $0 != "=" }
            }
            #expect(Set(names) == ["PATH", "LANG"])
            // The fourth is the directory that ls itself reads.
            #expect(try await runner.output(of: "ls", "/proc/self/fd") == "0\n1\n2\n3\n")
        }
    }

    @Test func `a program that takes too long is stopped with its children`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let script = "sleep 1000 & echo $! > \"$0\"; wait"
            let directory = try TemporaryDirectory()
            let file = directory.path("child")
            await #expect(throws: CommandFailure(message: "sh timed out and was stopped")) {
                try await runner.output(of: "sh", "-c", script, file, limit: .milliseconds(500))
            }
            let child = try #require(Int32(try await runner.output(of: "cat", file).dropLast()))
            // Killed, though perhaps not yet reaped by its new parent.
            let state = try await runner.run(
                ["ps", "-o", "stat=", "-p", "\(child)"],
                environment: [:],
                timeLimit: .seconds(20)
            )
            #expect(state.standardOutput.isEmpty || state.standardOutput.first == UInt8(ascii: "Z"))
        }
    }

    @Test func `a background child that keeps the output open delays nothing`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let clock = ContinuousClock()
            let took = try await clock.measure { () async throws in
                #expect(try await runner.output(of: "sh", "-c", "sleep 5 & echo done") == "done\n")
            }
            #expect(took < .seconds(4))
        }
    }

    @Test func `too much output is refused`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            await #expect(throws: CommandFailure(message: "head wrote more than 64 KiB")) {
                try await runner.output(of: "head", "-c", "65537", "/dev/zero")
            }
            #expect(try await runner.output(of: "head", "-c", "65536", "/dev/zero").utf8.count == 65_536)
        }
    }

    @Test func `a program that does not exist is named`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            await #expect(
                throws: CommandFailure(message: "cannot run no-such-program: No such file or directory")
            ) {
                try await runner.output(of: "no-such-program")
            }
        }
    }

    @Test func `commands run side by side`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let directory = try TemporaryDirectory()
            let fifo = directory.path("fifo")
            _ = try await runner.output(of: "mkfifo", fifo)
            try await runner.allow(["cat", fifo], ["sh", "-c", "echo met > \"$0\"", fifo])
            async let reading = runner.output(of: "cat", fifo)
            async let writing = runner.output(of: "sh", "-c", "echo met > \"$0\"", fifo)
            #expect(try await reading == "met\n")
            #expect(try await writing.isEmpty)
        }
    }

    @Test func `when the runner is gone every request fails`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            runner.client.close()
            await #expect(throws: CommandFailure.self) { try await runner.output(of: "true") }
        }
    }
}
