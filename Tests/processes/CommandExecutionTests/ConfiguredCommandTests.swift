// SPDX-License-Identifier: MIT

import CommandExecution
import Glibc
import TestSupport
import Testing
import TokenCore

/// Nothing runs that the configuration does not name, whatever the other end of the socket says.
struct ConfiguredCommandTests {
    private static func touch(_ directory: TemporaryDirectory) -> [String] {
        ["touch", directory.path("done")]
    }

    @Test(.holds("35")) func `a command that the configuration does not name is not run`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            try await runner.allow(["echo", "a"])
            for words in [["echo"], ["echo", "b"], ["echo", "a", "b"], ["sh", "-c", "id"], []] {
                await #expect(throws: CommandFailure.self) {
                    try await runner.client.run(words, environment: [:], timeLimit: .seconds(20))
                }
            }
        }
    }

    @Test func `an order follows only a command that takes one`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            try await runner.allow(["echo", "counter"], takingOrder: true)
            let told = try await runner.client.run(
                ["echo", "counter", "increment"],
                environment: [:],
                timeLimit: .seconds(20)
            )
            #expect(told.standardOutput == Array("counter increment\n".utf8))
            for words in [["echo", "counter"], ["echo", "counter", "reset"]] {
                await #expect(throws: CommandFailure.self) {
                    try await runner.client.run(words, environment: [:], timeLimit: .seconds(20))
                }
            }
        }
    }

    @Test(.holds("35"), arguments: ["LD_PRELOAD", "PATH", "TOKENAGENT_SOCK", "TOKENAGENT_EVENT=x", ""])
    func `a command is told nothing but what there is a name for`(name: String) async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            await #expect(throws: CommandFailure.self) {
                try await runner.run(["true"], environment: [name: "/tmp/x"])
            }
        }
    }

    @Test func `commands that the runner cannot read are known after a restart of the agent`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let table = CommandTable([CommandTable.Entry(words: ["echo", "unread"])])
            let failure = await #expect(throws: CommandFailure.self) { try await runner.client.adopt(table) }
            let message = "cannot read the configured commands (run: tokenctl shutdown && tokenagent)"
            #expect(failure?.message == message)
        }
    }

    @Test(.holds("35")) func `what the runner reads counts, not what it is told`() async throws {
        try await RunnerUnderTest.with { (runner) async throws in
            let named = CommandTable([CommandTable.Entry(words: ["echo", "named"])])
            let other = CommandTable([CommandTable.Entry(words: ["sh", "-c", "id"])])
            try runner.configure(named)
            await #expect(throws: CommandFailure.self) { try await runner.client.adopt(other) }
            await #expect(throws: CommandFailure.self) {
                try await runner.client.run(["sh", "-c", "id"], environment: [:], timeLimit: .seconds(20))
            }
            try await runner.client.adopt(named)
            #expect(
                try await runner.client.run(["echo", "named"], environment: [:], timeLimit: .seconds(20))
                    .standardOutput == Array("named\n".utf8)
            )
        }
    }

    /// An agent that somebody has taken over speaks to the runner in its own words, and leaves after `count` replies.
    private func speak(
        until count: Int,
        _ frames: (_ table: CommandTable, _ directory: TemporaryDirectory) -> [[UInt8]]
    ) async throws -> (replies: [String], isDone: Bool) {
        let directory = try TemporaryDirectory()
        let table = CommandTable([CommandTable.Entry(words: ["true"])])
        var replies: [String] = []
        try await RunnerUnderTest.withSocket(source: []) { (socket) async throws in
            for frame in [RunnerFrameKind.handing(table)] + frames(table, directory) {
                _ = send(socket, frame, frame.count, Int32(MSG_NOSIGNAL))
            }
            func receive(_ count: Int) -> [UInt8]? {
                var bytes = [UInt8](repeating: 0, count: count)
                return recv(socket, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
            }
            while replies.count < count, let header = receive(4),
                let reply = receive(header.reduce(0) { $0 << 8 | Int($1) })
            {
                replies.append(String(decoding: reply, as: UTF8.self))
            }
            shutdown(socket, Int32(SHUT_WR))
            if let more = receive(1) { replies.append(String(decoding: more, as: UTF8.self)) }
            close(socket)
        }
        return (replies, File.exists(directory.path("done")))
    }

    @Test(.holds("35")) func `a second table is taken from nobody`() async throws {
        let (replies, isDone) = try await speak(until: 0) { _, directory in
            let own = CommandTable([CommandTable.Entry(words: Self.touch(directory))])
            let request = CommandRequest(number: 1, table: own.digest, index: 0, timeLimit: .seconds(20))
            return [RunnerFrameKind.handing(own), request.frame]
        }
        #expect(replies.isEmpty && !isDone)
    }

    @Test(arguments: [1, 4711, UInt32.max])
    func `an index outside the table, or another table, runs nothing`(index: UInt32) async throws {
        let (replies, isDone) = try await speak(until: 3) { table, directory in
            let own = CommandTable([CommandTable.Entry(words: Self.touch(directory))])
            return [
                CommandRequest(number: 1, table: table.digest, index: index, timeLimit: .seconds(20)).frame,
                CommandRequest(number: 2, table: own.digest, index: 0, timeLimit: .seconds(20)).frame,
                CommandRequest(
                    number: 3,
                    table: table.digest,
                    index: 0,
                    order: .read,
                    timeLimit: .seconds(20)
                )
                .frame,
            ]
        }
        #expect(!isDone)
        func count(_ message: String) -> Int { replies.count { $0.contains(message) } }
        #expect(count("no such command in the configuration") == 2, "\(replies)")
        #expect(count("not a command of the current configuration") == 1, "\(replies)")
    }
}
