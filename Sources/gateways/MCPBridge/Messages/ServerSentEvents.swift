// SPDX-License-Identifier: MIT

import Text

/// A parser of event streams that arrive in pieces (HTML, Server-sent events, §9.2.6).
package struct ServerSentEvents: Sendable {
    package struct Event: Equatable, Sendable {
        /// The type of the event, which is `message` unless the stream names another one.
        package var type: ByteText
        /// The lines of the event's data, joined by line feeds.
        package var data: [UInt8]
    }

    /// The identifier of the last complete event, from which a broken stream is resumed.
    ///
    /// An identifier that is too long, or that cannot be sent as a field, is ignored.
    private(set) var lastID: String?
    /// The delay that the server requests before the stream is resumed.
    package private(set) var retry: Duration?

    private let longest: Int
    private var line: [UInt8] = []
    private var data: [UInt8]?
    private var type: ByteText = ""
    private var nextID: String?
    private var isFirstLine = true
    private var endedWithReturn = false

    /// Creates a parser.
    ///
    /// - Parameter longest: the maximum size of an event, in bytes.
    package init(longest: Int = BridgeLimits.message) {
        self.longest = longest
    }

    /// The number of buffered bytes of incomplete events.
    package var held: Int { line.count + (data?.count ?? 0) }

    /// Parses bytes of the stream.
    ///
    /// - Parameter read: the bytes.
    /// - Returns: the events that are complete now.
    /// - Throws: ``RPCFailure`` if an event is too long. Nothing more can be parsed then.
    package mutating func append(_ read: [UInt8]) throws(RPCFailure) -> [Event] {
        var events: [Event] = []
        var rest = read[...]
        if endedWithReturn, let first = rest.first {
            endedWithReturn = false
            if first == 0x0A { rest = rest.dropFirst() }
        }
        while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
            try add(rest[..<end])
            if let event = takeLine() { events.append(event) }
            let isReturn = rest[end] == 0x0D
            rest = rest[(end + 1)...]
            guard isReturn else { continue }
            endedWithReturn = rest.isEmpty
            if rest.first == 0x0A { rest = rest.dropFirst() }
        }
        try add(rest)
        return events
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>) throws(RPCFailure) {
        guard held + bytes.count <= longest else {
            throw RPCFailure(.failed, "the server sent a message of more than \(longest >> 20) MiB")
        }
        line += bytes
    }

    private mutating func takeLine() -> Event? {
        defer { line.removeAll(keepingCapacity: line.capacity <= 1 << 16) }
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let name = line[..<colon]
        if name.elementsEqual("data".utf8) {
            if data == nil { data = [] } else { data?.append(0x0A) }
            data? += value
        } else if name.elementsEqual("event".utf8) {
            type = String(decoding: value.prefix(BridgeLimits.identifier), as: UTF8.self).bytewise
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { nextID = ServerSentEvents.identifier(value) }
        } else if name.elementsEqual("retry".utf8), (1...9).contains(value.count),
            value.allSatisfy(\.isASCIIDigit), let number = Int(String(decoding: value, as: UTF8.self))
        {
            retry = .milliseconds(number)
        }
        return nil
    }

    private mutating func dispatch() -> Event? {
        lastID = nextID
        defer {
            data = nil
            type = ""
        }
        return data.map { Event(type: type == "" ? "message" : type, data: $0) }
    }

    private static func identifier(_ value: ArraySlice<UInt8>) -> String? {
        guard (1...BridgeLimits.identifier).contains(value.count), value.allSatisfy(\.isFieldByte),
            value.first != UInt8(ascii: " "), value.last != UInt8(ascii: " ")
        else { return nil }
        return String(validating: value, as: UTF8.self)
    }
}
