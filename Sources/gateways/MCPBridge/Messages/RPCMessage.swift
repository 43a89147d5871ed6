// SPDX-License-Identifier: MIT

import Text

/// The identifier of a request, a string or a number (JSON-RPC 2.0 §4).
package enum RPCIdentifier: Hashable, Sendable {
    case text(ByteText)
    /// A number as it was written.
    case number(ByteText)

    /// Creates an identifier, or returns `nil` for another type or one longer than
    /// ``BridgeLimits/identifier``.
    init?(_ json: JSONValue?) {
        if let text = json?.string {
            self = .text(text.bytewise)
        } else if let literal = json?.literal {
            self = .number(literal.bytewise)
        } else {
            return nil
        }
        guard word.utf8.count <= BridgeLimits.identifier else { return nil }
    }

    var json: JSONValue {
        switch self {
        case .text(let text): .string(text.text)
        case .number(let literal): .number(literal.text)
        }
    }

    private var word: ByteText {
        switch self {
        case .text(let word), .number(let word): word
        }
    }
}

/// One message of a packet (JSON-RPC 2.0 §4, §5).
package struct RPCMessage: Sendable {
    package enum Kind: Equatable, Sendable {
        case request(RPCIdentifier)
        case notification
        /// A response, with `nil` for one to a request that could not be read.
        case response(RPCIdentifier?)
    }

    package let kind: Kind
    /// The method of a request or notification, or `nil` in a response.
    package let method: ByteText?
    /// The position of the message in its packet.
    let range: Range<Int>
    /// The positions of the members' values, by name.
    let members: [ByteText: Range<Int>]

    /// Whether the message begins a session (Model Context Protocol, Lifecycle).
    var isOpening: Bool {
        if case .request = kind { method == "initialize" } else { false }
    }

    /// The identifier of a request, or `nil` for other messages.
    var requestID: RPCIdentifier? {
        if case .request(let id) = kind { id } else { nil }
    }

    /// The identifier of the request that a response answers, or `nil` for other messages.
    var answeredID: RPCIdentifier? {
        if case .response(let id) = kind { id } else { nil }
    }
}

/// A JSON text that is one message or, in protocol version 2025-03-26, an array of messages.
package struct RPCPacket: Sendable {
    /// The text as received, without a byte order mark.
    package let bytes: [UInt8]
    package let messages: [RPCMessage]
    let isBatch: Bool

    /// Parses a text, ignoring a byte order mark.
    ///
    /// - Throws: ``RPCFailure`` that describes the first error.
    package init(parsing text: [UInt8]) throws(RPCFailure) {
        let bytes = text.starts(with: ByteOrderMark.bytes) ? Array(ByteOrderMark.dropped(from: text)) : text
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw RPCFailure(.notJSON, "the message is not UTF-8")
        }
        let outline = try RPCPacket.outline(bytes, in: bytes.indices)
        self.bytes = bytes
        guard case .array(let elements) = outline.content else {
            isBatch = false
            messages = [try RPCMessage(outline, bytes, in: bytes.indices)]
            return
        }
        guard (1...BridgeLimits.batch).contains(elements.count) else {
            throw RPCFailure(.notAMessage, "a batch must contain 1 to \(BridgeLimits.batch) messages")
        }
        var messages: [RPCMessage] = []
        for element in elements {
            messages.append(try RPCMessage(try RPCPacket.outline(bytes, in: element), bytes, in: element))
        }
        self.messages = messages
        isBatch = true
    }

    /// The identifiers of the requests, each of which requires one response.
    var requests: [RPCIdentifier] { messages.compactMap(\.requestID) }

    /// The only message, or `nil` for a batch.
    var single: RPCMessage? { isBatch ? nil : messages.first }

    /// Returns the value at a path in a message, or `nil` if it does not exist or is large.
    func value(_ path: ByteText..., of message: RPCMessage) -> JSONValue? { value(path, of: message) }

    /// Returns the value at a path in a message, or `nil` if it does not exist or is large.
    func value(_ path: [ByteText], of message: RPCMessage) -> JSONValue? {
        var range = message.range
        for (depth, name) in path.enumerated() {
            let next =
                depth == 0
                ? message.members[name] : (try? JSONOutline(bytes, in: range))?.value(of: name)
            guard let next else { return nil }
            range = next
        }
        return RPCPacket.small(bytes, range)
    }

    /// Returns the value at a position where a short value is expected, or `nil` if it is long or missing.
    static func small(_ bytes: [UInt8], _ range: Range<Int>?) -> JSONValue? {
        guard let range, range.count <= 8 * BridgeLimits.identifier else { return nil }
        return try? JSONValue(parsing: bytes[range])
    }

    private static func outline(_ bytes: [UInt8], in range: Range<Int>) throws(RPCFailure) -> JSONOutline {
        do {
            return try JSONOutline(bytes, in: range)
        } catch {
            switch error {
            case .notJSON: throw RPCFailure(.notJSON, "the message is not JSON")
            case .tooLarge:
                throw RPCFailure(.notAMessage, "the message is nested too deeply or has too many members")
            case .repeatedName: throw RPCFailure(.notAMessage, "the message has a duplicate member")
            }
        }
    }
}

extension RPCMessage {
    fileprivate init(_ outline: JSONOutline, _ bytes: [UInt8], in range: Range<Int>) throws(RPCFailure) {
        guard case .object(let list) = outline.content else {
            throw RPCFailure(.notAMessage, "the message is not a JSON object")
        }
        let members = Dictionary(
            list.map { ($0.name.bytewise, $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        guard RPCPacket.small(bytes, members["jsonrpc"])?.string?.bytewise == "2.0" else {
            throw RPCFailure(.notAMessage, "the message requires \"jsonrpc\":\"2.0\"")
        }
        let id = RPCIdentifier(RPCPacket.small(bytes, members["id"]))
        if members["method"] != nil {
            method = RPCPacket.small(bytes, members["method"])?.string?.bytewise
            guard method != nil else { throw RPCFailure(.notAMessage, "method must be a short string") }
            guard members["id"] == nil || id != nil else {
                throw RPCFailure(.notAMessage, "id must be a short string or a number")
            }
            kind = id.map(Kind.request) ?? .notification
        } else {
            // From MCP version 2025-11-25 on, an error need not name a request.
            let hasError = members["error"] != nil
            guard (members["result"] == nil) == hasError, members["id"] != nil || hasError else {
                throw RPCFailure(
                    .notAMessage,
                    "the message requires a method, or an id and a result or an error"
                )
            }
            method = nil
            kind = .response(id)
        }
        self.range = range
        self.members = members
    }
}
