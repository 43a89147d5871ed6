// SPDX-License-Identifier: MIT

import CommandClient
import CommandExecution
import Glibc
import NIOPosix
import Synchronization
import TestSupport
import Testing
import TokenCore

/// A runner serving on a thread of the test, with the client connected to it and the file it reads its commands from.
final class RunnerUnderTest: Sendable {
    let client: CommandRunnerClient
    private let directory: TemporaryDirectory
    private let entries = Mutex<[CommandTable.Entry]>([])

    private init(_ client: CommandRunnerClient, _ directory: TemporaryDirectory) {
        self.client = client
        self.directory = directory
    }

    /// The agent's end of a socket whose other end a runner serves, until `body` has returned.
    static func withSocket(
        environment: [String: String] = ["PATH": "/usr/bin:/bin", "LANG": "C"],
        source: [String],
        _ body: (Int32) async throws -> Void
    ) async throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        let (agentEnd, runnerEnd) = (ends[0], ends[1])
        let runner = NIOThreadPool(numberOfThreads: 1)
        runner.start()
        runner.submit { _ in
            CommandRunnerServer(socket: runnerEnd, environment: environment, source: source).serve()
            // Not closed: the runner may still report a stopped program here, so the number must not be reused.
            shutdown(runnerEnd, Int32(SHUT_RDWR))
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(agentEnd)) } catch { result = .failure(error) }
        try await runner.shutdownGracefully()
        try result.get()
    }

    static func with(
        environment: [String: String] = ["PATH": "/usr/bin:/bin", "LANG": "C"],
        _ body: (RunnerUnderTest) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let source = ["cat", directory.path("table")]
        try await withSocket(environment: environment, source: source) { (socket) async throws in
            let table = CommandTable()
            let frame = RunnerFrameKind.handing(table)
            try #require(send(socket, frame, frame.count, 0) == frame.count)
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let client = CommandRunnerClient(socket: socket, table: table, on: loop)
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(RunnerUnderTest(client, directory)))
            } catch {
                result = .failure(error)
            }
            client.close()
            try result.get()
        }
    }

    /// Writes what the runner reads when it is told to; the client is told nothing.
    func configure(_ table: CommandTable) throws {
        let file = try #require(fopen(directory.path("table"), "we"))
        defer { fclose(file) }
        try #require(fwrite(table.encoded, 1, table.encoded.count, file) == table.encoded.count)
    }

    /// Puts `command` into the configuration beside those that are there, and reloads it.
    func allow(_ commands: [String]..., takingOrder: Bool = false) async throws {
        let new = commands.map { CommandTable.Entry(words: $0, takesOrder: takingOrder) }
        let all = entries.withLock { entries -> [CommandTable.Entry]? in
            guard !new.allSatisfy(entries.contains) else { return nil }
            entries += new
            return entries
        }
        guard let all else { return }
        try configure(CommandTable(all))
        try await client.adopt(CommandTable(all))
    }

    func run(
        _ command: [String],
        environment: [String: String] = [:],
        timeLimit: Duration = .seconds(20)
    ) async throws -> CommandResult {
        try await allow(command)
        return try await client.run(command, environment: environment, timeLimit: timeLimit)
    }

    func output(of command: String..., limit: Duration = .seconds(20)) async throws -> String {
        String(decoding: try await run(command, timeLimit: limit).standardOutput, as: UTF8.self)
    }
}
