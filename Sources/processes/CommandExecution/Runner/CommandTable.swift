// SPDX-License-Identifier: MIT

import SystemCalls

/// The commands of a configuration; the runner process runs no others.
///
/// Encoding: version (1 byte), then for each command 1 if it takes an operation (1), the count of its words
/// (2), and each word after its length (4). Integers are big-endian, words UTF-8 without NUL.
package struct CommandTable: Equatable, Sendable {
    /// A command of the configuration.
    package struct Entry: Hashable, Sendable {
        /// The program and its arguments, never a shell line.
        package var words: [String]
        /// Whether a ``RollbackCounterOperation`` is appended to the words.
        package var takesOrder: Bool

        package init(words: [String], takesOrder: Bool = false) {
            self.words = words
            self.takesOrder = takesOrder
        }
    }

    /// The maximum size of an encoded table in bytes: more than the longest configuration needs.
    package static let maximumCount = 8 << 20
    private static let version: UInt8 = 1

    package let entries: [Entry]
    package let encoded: [UInt8]
    /// SHA-256 of ``encoded``.
    package let digest: [UInt8]

    package init(_ entries: [Entry] = []) {
        var writer = ByteWriter()
        writer.append(Self.version)
        for entry in entries {
            writer.append(entry.takesOrder ? 1 as UInt8 : 0)
            writer.append(UInt16(clamping: entry.words.count))
            for word in entry.words { writer.append(word) }
        }
        self.init(entries, writer.bytes)
    }

    /// Decodes a table, or returns `nil` if the bytes are not valid.
    package init?(encoded bytes: [UInt8]) {
        var reader = FrameReader(bytes)
        guard bytes.count <= Self.maximumCount, let version: UInt8 = reader.integer(), version == Self.version
        else { return nil }
        var entries: [Entry] = []
        while !reader.isAtEnd {
            guard let order: UInt8 = reader.integer(), order <= 1, let count: UInt16 = reader.integer(),
                count > 0
            else { return nil }
            var words: [String] = []
            for _ in 0..<count {
                guard let word = reader.string() else { return nil }
                words.append(word)
            }
            entries.append(Entry(words: words, takesOrder: order == 1))
        }
        self.init(entries, bytes)
    }

    private init(_ entries: [Entry], _ encoded: [UInt8]) {
        self.entries = entries
        self.encoded = encoded
        digest = SHA256.digest(of: encoded)
    }
}

/// The operation appended to a command that takes one: the request to `vault.rollback_counter`.
package enum RollbackCounterOperation: UInt8, CaseIterable, Sendable {
    case read = 1
    case increment = 2

    package var word: String {
        switch self {
        case .read: "read"
        case .increment: "increment"
        }
    }
}

/// The information that a command may get in addition to its words, each in an environment variable.
///
/// Only the raw value is sent to the runner process, so no sender can set another variable.
package enum CommandEnvironmentVariable: UInt8, CaseIterable, Sendable {
    case event = 1
    case session
    case reason
    case question
    case peerProcess
    case peerUser
    case peerProgram
    case peerUnit
    case peerSocket
    case action
    case peerHost
    case notice

    package var name: String {
        switch self {
        case .event: "TOKENAGENT_EVENT"
        case .session: "TOKENAGENT_SESSION"
        case .reason: "TOKENAGENT_REASON"
        case .question: "TOKENAGENT_QUESTION"
        case .peerProcess: "TOKENAGENT_PEER_PID"
        case .peerUser: "TOKENAGENT_PEER_UID"
        case .peerProgram: "TOKENAGENT_PEER_EXE"
        case .peerUnit: "TOKENAGENT_PEER_UNIT"
        case .peerSocket: "TOKENAGENT_PEER_SOCKET"
        case .action: "TOKENAGENT_ACTION"
        case .peerHost: "TOKENAGENT_PEER_HOST"
        case .notice: DesktopNotice.formerNotice
        }
    }

    /// The maximum size of a value in bytes: a path and a sentence around it.
    package static let maximumValueLength = 8192

    /// Creates the variable called `name`, or returns `nil` if commands may not receive it.
    package init?(name: String) {
        guard
            let found = CommandEnvironmentVariable.allCases.first(where: {
                $0.name.utf8.elementsEqual(name.utf8)
            })
        else { return nil }
        self = found
    }
}
