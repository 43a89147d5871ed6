// SPDX-License-Identifier: MIT

import Synchronization

/// The command tables that the runner process knows: the initial one, then those it reads itself.
///
/// The agent sends the first table before it is sandboxed and before it has read any request. Later tables
/// are printed by the program that reads the configuration. This process starts that program; the agent only
/// says when.
final class CommandTables: Sendable {
    /// The number of tables to keep: the current and the previous one, whose commands may still be requested.
    private static let kept = 2
    /// The time limit for reading a table, which takes milliseconds; a stalled file system must not block a
    /// reload.
    private static let timeLimit = Duration.seconds(20)

    private let tables = Mutex<[CommandTable]>([])
    /// The program that prints a table, with its arguments, or empty if no table can be read.
    private let source: [String]
    private let environment: [String: String]

    init(source: [String], environment: [String: String]) {
        self.source = source
        self.environment = environment
    }

    /// Stores the first table.
    ///
    /// - Returns: `false` if there is a table already, because the agent never sends a second one.
    func begin(with table: CommandTable) -> Bool {
        tables.withLock { tables in
            guard tables.isEmpty else { return false }
            tables = [table]
            return true
        }
    }

    /// Reads the table of the configuration again.
    ///
    /// - Returns: The digest of the table.
    /// - Throws: ``ProgramFailure`` if the program cannot be run or prints no valid table.
    func load() throws(ProgramFailure) -> [UInt8] {
        guard !source.isEmpty else {
            throw ProgramFailure(message: "cannot reload commands")
        }
        var output = RunningProgram.Output()
        let program = try RunningProgram.start(source, environment: [:], inheriting: environment)
        let status = try program.finish(
            within: Self.timeLimit,
            into: &output,
            atMost: CommandTable.maximumCount
        )
        guard status == 0, let table = CommandTable(encoded: output.standard) else {
            throw ProgramFailure(message: "cannot read the configured commands")
        }
        tables.withLock { tables in
            tables.removeAll { $0.digest == table.digest }
            tables = Array(([table] + tables).prefix(Self.kept))
        }
        return table.digest
    }

    /// Returns the words of the command that `request` selects.
    ///
    /// - Throws: ``ProgramFailure`` if the table or the command is unknown.
    func words(of request: CommandRequest) throws(ProgramFailure) -> [String] {
        let table = tables.withLock { tables in tables.first { $0.digest == request.table } }
        guard let table else {
            throw ProgramFailure(message: "not a command of the current configuration")
        }
        guard let index = Int(exactly: request.index), table.entries.indices.contains(index),
            table.entries[index].takesOrder == (request.order != nil)
        else {
            throw ProgramFailure(message: "no such command in the configuration")
        }
        return table.entries[index].words + [request.order?.word].compactMap(\.self)
    }
}
