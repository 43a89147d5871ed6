// SPDX-License-Identifier: MIT

import CommandClient
import CommandExecution
import Glibc
import NIOPosix
import TestSupport
import Testing
import TokenCore

/// A runner serving on a thread of the test, and the client connected to it.
private func withRunner(
    environment: [String: String] = ["PATH": "/usr/bin:/bin", "LANG": "C"],
    _ body: (CommandRunnerClient) async throws -> Void
) async throws {
    var ends: [Int32] = [-1, -1]
    try #require(
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
    )
    let (agentEnd, runnerEnd) = (ends[0], ends[1])
    let runner = NIOThreadPool(numberOfThreads: 1)
    runner.start()
    runner.submit { _ in
        CommandRunnerProcess(socket: runnerEnd, environment: environment).serve()
        // Not closed: a program that was stopped is still reported, to whoever had the number by then.
        shutdown(runnerEnd, Int32(SHUT_RDWR))
    }
    let client = try await CommandRunnerClient.connect(
        socket: agentEnd,
        on: MultiThreadedEventLoopGroup.singleton.next()
    ).get()
    let result: Result<Void, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    client.close()
    try await runner.shutdownGracefully()
    try result.get()
}

extension CommandRunnerClient {
    fileprivate func output(of command: String..., limit: Duration = .seconds(20)) async throws -> String {
        let result = try await run(command, environment: [:], timeLimit: limit)
        return String(decoding: result.standardOutput, as: UTF8.self)
    }
}

struct CommandRunnerTests {
    @Test func `a question about a process waits for no program`() async throws {
        try await withRunner { (runner) async throws in
            let directory = try TemporaryDirectory()
            let waiting = ["sh", "-c", "until test -e \"$0\"; do sleep 0.05; done", directory.path("go")]
            // One more than run at the same time.
            let programs = (0...CommandLimits.concurrentCommands).map { _ in
                Task { try await runner.run(waiting, environment: [:], timeLimit: .seconds(100)) }
            }
            let facts = try await runner.examine(getpid(), digesting: [])
            #expect(facts.programs.count == 1)
            await #expect(throws: CommandFailure.self) { try await runner.examine(.max, digesting: []) }
            try directory.write("", to: "go")
            for program in programs { #expect(try await program.value.status == 0) }
        }
    }

    @Test func `output and exit status come back`() async throws {
        try await withRunner { (runner) async throws in
            let result = try await runner.run(
                ["sh", "-c", "echo $GREETING; exit 3"],
                environment: ["GREETING": "hello"],
                timeLimit: .seconds(20)
            )
            #expect(result == CommandResult(status: 3, standardOutput: Array("hello\n".utf8)))
        }
    }

    @Test func `a program ended by a signal has 128 plus its number as status`() async throws {
        try await withRunner { (runner) async throws in
            let result = try await runner.run(
                ["sh", "-c", "kill -9 $$"],
                environment: [:],
                timeLimit: .seconds(20)
            )
            #expect(result.status == 137)
        }
    }

    @Test func `arguments are never read by a shell`() async throws {
        try await withRunner { (runner) async throws in
            #expect(try await runner.output(of: "echo", "$HOME; `id`", "*") == "$HOME; `id` *\n")
        }
    }

    @Test func `a program inherits the runner's environment and no descriptors`() async throws {
        try await withRunner { (runner) async throws in
            let names = try await runner.output(of: "env").split(separator: "\n").map {
                $0.prefix { $0 != "=" }
            }
            #expect(Set(names) == ["PATH", "LANG"])
            // The fourth is the directory that ls itself reads.
            #expect(try await runner.output(of: "ls", "/proc/self/fd") == "0\n1\n2\n3\n")
        }
    }

    @Test func `a program that takes too long is stopped with its children`() async throws {
        try await withRunner { (runner) async throws in
            let script = "sleep 1000 & echo $! > \"$0\"; wait"
            let directory = try TemporaryDirectory()
            let file = directory.path("child")
            await #expect(throws: CommandFailure(message: "sh took too long and was stopped")) {
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
        try await withRunner { (runner) async throws in
            let clock = ContinuousClock()
            let took = try await clock.measure { () async throws in
                #expect(try await runner.output(of: "sh", "-c", "sleep 5 & echo done") == "done\n")
            }
            #expect(took < .seconds(4))
        }
    }

    @Test func `too much output is refused`() async throws {
        try await withRunner { (runner) async throws in
            await #expect(throws: CommandFailure(message: "head wrote more than 64 KiB")) {
                try await runner.output(of: "head", "-c", "65537", "/dev/zero")
            }
            #expect(try await runner.output(of: "head", "-c", "65536", "/dev/zero").utf8.count == 65_536)
        }
    }

    @Test func `a program that does not exist is named`() async throws {
        try await withRunner { (runner) async throws in
            await #expect(
                throws: CommandFailure(message: "can not run no-such-program: No such file or directory")
            ) {
                try await runner.output(of: "no-such-program")
            }
        }
    }

    @Test func `commands run side by side`() async throws {
        try await withRunner { (runner) async throws in
            let directory = try TemporaryDirectory()
            let fifo = directory.path("fifo")
            _ = try await runner.output(of: "mkfifo", fifo)
            async let reading = runner.output(of: "cat", fifo)
            async let writing = runner.output(of: "sh", "-c", "echo met > \"$0\"", fifo)
            #expect(try await reading == "met\n")
            #expect(try await writing.isEmpty)
        }
    }

    @Test func `when the runner is gone every request fails`() async throws {
        try await withRunner { (runner) async throws in
            runner.close()
            await #expect(throws: CommandFailure.self) { try await runner.output(of: "true") }
        }
    }
}
