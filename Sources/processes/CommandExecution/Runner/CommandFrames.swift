// SPDX-License-Identifier: MIT

extension RunnerFrameKind {
    /// Returns the frame with the first table, which precedes all other frames.
    package static func handing(_ table: CommandTable) -> [UInt8] {
        var payload = ByteWriter()
        payload.bytes = table.encoded
        return payload.framed(as: .table)
    }

    /// Returns the frame that requests a new read of the table; the reply contains `number`.
    package static func loading(_ number: UInt64) -> [UInt8] {
        var payload = ByteWriter()
        payload.append(number)
        return payload.framed(as: .load)
    }
}

/// A request to the runner process to run one command of the configuration.
///
/// On the wire: payload length (4 bytes), ``RunnerFrameKind/run`` (1), number (8), digest of the table (32),
/// index of the command in it (4), time limit in milliseconds (4), operation or 0 (1), count of variables
/// (1), then each ``CommandEnvironmentVariable`` (1) with its value after its length (4). Integers are big-endian,
/// values UTF-8 without NUL.
package struct CommandRequest: Equatable, Sendable {
    /// The number chosen by the sender, which the reply repeats.
    package var number: UInt64
    /// The digest of the table to which ``index`` refers.
    package var table: [UInt8]
    /// The index of the command in the table.
    package var index: UInt32
    /// The operation for a command that takes one.
    package var order: RollbackCounterOperation?
    package var variables: [CommandEnvironmentVariable: String]
    package var timeLimit: Duration

    package init(
        number: UInt64,
        table: [UInt8],
        index: UInt32,
        order: RollbackCounterOperation? = nil,
        variables: [CommandEnvironmentVariable: String] = [:],
        timeLimit: Duration
    ) {
        self.number = number
        self.table = table
        self.index = index
        self.order = order
        self.variables = variables
        self.timeLimit = timeLimit
    }
}

/// The result of a program, sent back from the runner process.
///
/// On the wire: payload length (4 bytes), number (8), 0 for a result or 1 for a failure (1), exit status (4),
/// the standard error after its length (4), then the output or the failure's message to the end.
package struct CommandReply: Equatable, Sendable {
    /// The result of a program, or the reason why it has none.
    package enum Outcome: Equatable, Sendable {
        /// The exit status, or 128 + signal number, and the standard output.
        case ended(status: Int32, output: [UInt8])
        case failed(ProgramFailure)
    }

    package var number: UInt64
    package var outcome: Outcome
    /// The first bytes of the standard error.
    package var errors: [UInt8]

    package init(number: UInt64, outcome: Outcome, errors: [UInt8] = []) {
        self.number = number
        self.outcome = outcome
        self.errors = errors
    }
}

extension CommandRequest {
    package var frame: [UInt8] {
        var payload = ByteWriter()
        payload.append(number)
        payload.bytes += table
        payload.append(index)
        payload.append(UInt32(clamping: timeLimit.wholeMilliseconds))
        payload.append(order?.rawValue ?? 0)
        payload.append(UInt8(clamping: variables.count))
        for (variable, value) in variables.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            payload.append(variable.rawValue)
            payload.append(value)
        }
        return payload.framed(as: .run)
    }

    /// Parses the payload of a frame after its first byte, or returns `nil` if it is not a valid request.
    package init?(payload: [UInt8]) {
        var reader = FrameReader(payload)
        guard let number: UInt64 = reader.integer(), let table = reader.bytes(32),
            let index: UInt32 = reader.integer(), let milliseconds: UInt32 = reader.integer(),
            let order: UInt8 = reader.integer(),
            order == 0 || RollbackCounterOperation(rawValue: order) != nil,
            let count: UInt8 = reader.integer()
        else { return nil }
        var variables: [CommandEnvironmentVariable: String] = [:]
        for _ in 0..<count {
            guard let kind: UInt8 = reader.integer(),
                let variable = CommandEnvironmentVariable(rawValue: kind),
                let value = reader.string(),
                value.utf8.count <= CommandEnvironmentVariable.maximumValueLength,
                variables.updateValue(value, forKey: variable) == nil
            else { return nil }
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            number: number,
            table: table,
            index: index,
            order: RollbackCounterOperation(rawValue: order),
            variables: variables,
            timeLimit: .milliseconds(Int64(milliseconds))
        )
    }

    /// The variables as the environment of a program.
    var environment: [String: String] {
        Dictionary(uniqueKeysWithValues: variables.map { ($0.key.name, $0.value) })
    }
}

extension CommandReply {
    /// The size of number, kind, status and the length of the standard error, in bytes.
    private static let headerCount = 8 + 1 + 4 + 4

    /// The encoded frame in a single allocation, which the sender can wipe.
    package var frame: [UInt8] {
        let (kind, status, rest): (UInt8, Int32, [UInt8]) =
            switch outcome {
            case .ended(let status, let output): (0, status, output)
            case .failed(let failure): (1, 0, Array(failure.message.utf8))
            }
        let count = CommandReply.headerCount + errors.count + rest.count
        var frame = ByteWriter()
        frame.bytes.reserveCapacity(4 + count)
        frame.append(UInt32(clamping: count))
        frame.append(number)
        frame.append(kind)
        frame.append(UInt32(bitPattern: status))
        frame.append(UInt32(clamping: errors.count))
        frame.bytes += errors
        frame.bytes += rest
        return frame.bytes
    }

    /// Parses the payload of a frame, or returns `nil` if it is not a valid reply.
    package init?(payload: [UInt8]) {
        var reader = FrameReader(payload)
        guard let number: UInt64 = reader.integer(), let kind: UInt8 = reader.integer(),
            let status: UInt32 = reader.integer(), let length: UInt32 = reader.integer(),
            length <= CommandLimits.errors, let errors = reader.bytes(Int(length))
        else { return nil }
        switch kind {
        case 0:
            let outcome = Outcome.ended(status: Int32(bitPattern: status), output: reader.rest)
            self.init(number: number, outcome: outcome, errors: errors)
        case 1:
            let message = String(decoding: reader.rest, as: UTF8.self)
            self.init(number: number, outcome: .failed(ProgramFailure(message: message)), errors: errors)
        default: return nil
        }
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded towards zero and clamped to the range of `Int64`.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (milliseconds, overflows) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        return milliseconds + attoseconds / 1_000_000_000_000_000
    }
}
