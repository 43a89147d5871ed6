// SPDX-License-Identifier: MIT

/// The kind of a frame to the runner process: the first byte of its payload.
package enum RunnerFrame: UInt8, Sendable {
    /// A ``CommandRequest``.
    case run = 1
    /// A ``ProcessQuery``.
    case examine = 2
    /// The bytes of a ``CommandTable``: the first frame, and only that one.
    case table = 3
    /// A number (8): read the table of commands anew, and answer its digest.
    case load = 4
}

extension RunnerFrame {
    /// Hands over the first table; no frame comes before it.
    package static func handing(_ table: CommandTable) -> [UInt8] {
        var payload = ByteWriter()
        payload.bytes = table.encoded
        return payload.framed(as: .table)
    }

    /// Asks for the table to be read anew; `number` comes back in the reply.
    package static func loading(_ number: UInt64) -> [UInt8] {
        var payload = ByteWriter()
        payload.append(number)
        return payload.framed(as: .load)
    }
}

/// A request to the runner process: which of the configuration's commands to run, and what to tell it.
///
/// On the wire: payload length (4 bytes), ``RunnerFrame/run`` (1), number (8), digest of the table (32), index of the
/// command in it (4), time limit in milliseconds (4), order or 0 (1), count of variables (1), then each ``CommandVariable``
/// (1) with its value after its length (4); integers big-endian, values UTF-8 without NUL.
package struct CommandRequest: Equatable, Sendable {
    /// Chosen by the sender; comes back in the reply.
    package var number: UInt64
    /// The digest of the table that ``index`` counts in.
    package var table: [UInt8]
    package var index: UInt32
    package var order: CommandOperation?
    package var variables: [CommandVariable: String]
    package var timeLimit: Duration

    package init(
        number: UInt64,
        table: [UInt8],
        index: UInt32,
        order: CommandOperation? = nil,
        variables: [CommandVariable: String] = [:],
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

/// How a program ended, as it travels back from the runner process.
///
/// On the wire: payload length (4), number (8), 0 for a result or 1 for a failure (1), exit status (4), the standard error
/// after its length (4), then the output or the failure's message to the end.
package struct CommandReply: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        /// Exit status, or 128 + signal number; and what the program wrote.
        case ended(status: Int32, output: [UInt8])
        case failed(ProgramFailure)
    }

    package var number: UInt64
    package var outcome: Outcome
    /// The beginning of what the program wrote to its standard error.
    package var errors: [UInt8]

    package init(number: UInt64, outcome: Outcome, errors: [UInt8] = []) {
        self.number = number
        self.outcome = outcome
        self.errors = errors
    }
}

/// Sizes both ends agree on.
package enum CommandLimits {
    /// Longest frame; the longest output fits with room for its header.
    package static let frame = 128 * 1024
    /// Most bytes of standard output that are kept; a program that writes more has failed.
    package static let output = 64 * 1024
    /// Bytes of standard error that are kept: more than the line that is shown.
    package static let errors = 4 * 1024
    /// How many programs may run at the same time; more wait.
    package static let concurrentCommands = 8
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

    /// Reads the payload of a frame after its first byte; `nil` when it is not one of ours.
    package init?(payload: [UInt8]) {
        var reader = FrameReader(payload)
        guard let number: UInt64 = reader.integer(), let table = reader.bytes(32),
            let index: UInt32 = reader.integer(), let milliseconds: UInt32 = reader.integer(),
            let order: UInt8 = reader.integer(), order == 0 || CommandOperation(rawValue: order) != nil,
            let count: UInt8 = reader.integer()
        else { return nil }
        var variables: [CommandVariable: String] = [:]
        for _ in 0..<count {
            guard let kind: UInt8 = reader.integer(), let variable = CommandVariable(rawValue: kind),
                let value = reader.string(), value.utf8.count <= CommandVariable.longestValue,
                variables.updateValue(value, forKey: variable) == nil
            else { return nil }
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            number: number,
            table: table,
            index: index,
            order: CommandOperation(rawValue: order),
            variables: variables,
            timeLimit: .milliseconds(Int64(milliseconds))
        )
    }

    /// The variables as a program's environment has them.
    var environment: [String: String] {
        Dictionary(uniqueKeysWithValues: variables.map { ($0.key.name, $0.value) })
    }
}

extension CommandReply {
    /// Number, kind, status and the length of the standard error.
    private static let headerCount = 8 + 1 + 4 + 4

    /// Written into one piece of memory, which the sender can wipe.
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

    /// Reads the payload of a frame; `nil` when it is not one of ours.
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
    /// Rounded towards zero; what a number cannot hold is the largest or the least one.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (milliseconds, overflows) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        return milliseconds + attoseconds / 1_000_000_000_000_000
    }
}
