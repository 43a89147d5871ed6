// SPDX-License-Identifier: MIT

import Synchronization

/// The tables of commands the runner process knows: the one it was started with, then those it reads itself.
///
/// The agent hands over the first, before it is confined and before anybody has spoken to it. Later ones are
/// printed by the program that reads the configuration, which this process starts; the agent only says when.
final class CommandTables: Sendable {
    /// The present table and the one before: a request for a command of that one may still be on its way.
    private static let kept = 2
    /// Reading a configuration takes milliseconds; a directory that hangs must not hold up a reload for ever.
    private static let timeLimit = Duration.seconds(20)

    private let tables = Mutex<[CommandTable]>([])
    /// The program that prints a table, with its arguments; empty if none can be read.
    private let source: [String]
    private let environment: [String: String]

    init(source: [String], environment: [String: String]) {
        self.source = source
        self.environment = environment
    }

    /// Takes the first table; `false` if there is one already, as the agent never hands over a second.
    func begin(with table: CommandTable) -> Bool {
        tables.withLock { tables in
            guard tables.isEmpty else { return false }
            tables = [table]
            return true
        }
    }

    /// Reads the configuration's table anew, and answers its digest.
    func load() throws(ProgramFailure) -> [UInt8] {
        guard !source.isEmpty else {
            throw ProgramFailure(message: "commands cannot be read again; restart the agent")
        }
        var output = RunningProgram.Output()
        let program = try RunningProgram.start(source, environment: [:], inheriting: environment)
        let status = try program.finish(
            within: Self.timeLimit,
            into: &output,
            atMost: CommandTable.largestCount
        )
        guard status == 0, let table = CommandTable(encoded: output.standard) else {
            throw ProgramFailure(
                message: "the commands of the configuration cannot be read; restart the agent"
            )
        }
        tables.withLock { tables in
            tables.removeAll { $0.digest == table.digest }
            tables = Array(([table] + tables).prefix(Self.kept))
        }
        return table.digest
    }

    /// The words to run for `request`, or why nothing is run.
    func words(of request: CommandRequest) throws(ProgramFailure) -> [String] {
        let table = tables.withLock { tables in tables.first { $0.digest == request.table } }
        guard let table else {
            throw ProgramFailure(message: "it is not a command of the configuration as it is now")
        }
        guard let index = Int(exactly: request.index), table.entries.indices.contains(index),
            table.entries[index].takesOrder == (request.order != nil)
        else {
            throw ProgramFailure(message: "the configuration names no such command")
        }
        return table.entries[index].words + [request.order?.word].compactMap(\.self)
    }
}
