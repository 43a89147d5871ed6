// SPDX-License-Identifier: MIT

import TokenCore

/// One program to run, as it travels to the runner process.
///
/// On the wire: payload length (4 bytes), number (8), time limit in milliseconds (4), count of arguments (2), count
/// of environment entries (2), then that many strings, each after its length (4); integers big-endian, strings
/// UTF-8 without NUL, environment entries as `NAME=value`.
package struct CommandRequest: Equatable, Sendable {
    /// Chosen by the sender; comes back in the reply.
    package var number: UInt64
    package var command: [String]
    package var environment: [String: String]
    package var timeLimit: Duration

    package init(number: UInt64, command: [String], environment: [String: String], timeLimit: Duration) {
        self.number = number
        self.command = command
        self.environment = environment
        self.timeLimit = timeLimit
    }
}

/// How a program ended, as it travels back from the runner process.
///
/// On the wire: payload length (4), number (8), 0 for a result or 1 for a failure (1), exit status (4), then the
/// output or the failure's message to the end.
package struct CommandReply: Equatable, Sendable {
    package var number: UInt64
    package var outcome: Result<CommandResult, CommandFailure>

    package init(number: UInt64, outcome: Result<CommandResult, CommandFailure>) {
        self.number = number
        self.outcome = outcome
    }
}

/// Sizes both ends agree on.
package enum CommandLimits {
    /// Longest frame; the longest output fits with room for its header.
    package static let frame = 128 * 1024
    /// Most bytes of standard output that are kept; a program that writes more has failed.
    package static let output = 64 * 1024
    /// Programs run at the same time; more wait.
    package static let concurrentCommands = 8
}

extension CommandRequest {
    package var frame: [UInt8] {
        var payload = ByteWriter()
        payload.append(number)
        payload.append(UInt32(clamping: timeLimit.saturatedNanoseconds / 1_000_000))
        payload.append(UInt16(clamping: command.count))
        payload.append(UInt16(clamping: environment.count))
        for text in command { payload.append(text) }
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
            payload.append("\(name)=\(value)")
        }
        return payload.framed
    }

    /// Reads the payload of a frame; `nil` when it is not one of ours.
    package init?(payload: [UInt8]) {
        var reader = ByteReader(payload)
        guard let number: UInt64 = reader.integer(), let milliseconds: UInt32 = reader.integer(),
            let argumentCount: UInt16 = reader.integer(), let entryCount: UInt16 = reader.integer()
        else { return nil }
        var command: [String] = []
        for _ in 0..<argumentCount {
            guard let text = reader.string() else { return nil }
            command.append(text)
        }
        var environment: [String: String] = [:]
        for _ in 0..<entryCount {
            guard let entry = reader.string(), let mark = entry.firstIndex(of: "=") else { return nil }
            environment[String(entry[..<mark])] = String(entry[entry.index(after: mark)...])
        }
        guard reader.isAtEnd, !command.isEmpty else { return nil }
        self.init(
            number: number,
            command: command,
            environment: environment,
            timeLimit: .milliseconds(Int64(milliseconds))
        )
    }
}

extension CommandReply {
    /// Number, kind and status.
    private static let headerCount = 8 + 1 + 4

    /// Written into one piece of memory, which the sender can wipe.
    package var frame: [UInt8] {
        let (kind, status, rest): (UInt8, Int32, [UInt8]) =
            switch outcome {
            case .success(let result): (0, result.status, result.standardOutput)
            case .failure(let failure): (1, 0, Array(failure.message.utf8))
            }
        let count = CommandReply.headerCount + rest.count
        var frame = ByteWriter()
        frame.bytes.reserveCapacity(4 + count)
        frame.append(UInt32(clamping: count))
        frame.append(number)
        frame.append(kind)
        frame.append(UInt32(bitPattern: status))
        frame.bytes += rest
        return frame.bytes
    }

    /// Reads the payload of a frame; `nil` when it is not one of ours.
    package init?(payload: [UInt8]) {
        var reader = ByteReader(payload)
        guard let number: UInt64 = reader.integer(), let kind: UInt8 = reader.integer(),
            let status: UInt32 = reader.integer()
        else { return nil }
        switch kind {
        case 0:
            let result = CommandResult(status: Int32(bitPattern: status), standardOutput: reader.rest)
            self.init(number: number, outcome: .success(result))
        case 1:
            let message = String(decoding: reader.rest, as: UTF8.self)
            self.init(number: number, outcome: .failure(CommandFailure(message: message)))
        default: return nil
        }
    }
}
