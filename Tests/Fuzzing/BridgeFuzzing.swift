// SPDX-License-Identifier: MIT

import Text

@testable import MCPBridge

/// Feeds `bytes` to the parsers of messages of the Model Context Protocol.
func fuzzBridge(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    switch first % 4 {
    case 0: fuzzPacket(text)
    case 1: fuzzEvents(text)
    case 2: fuzzLines(text)
    default: fuzzTools(text)
    }
}

/// Checks that a message keeps its value when it is written on one line.
private func fuzzPacket(_ text: [UInt8]) {
    guard let packet = ProcessorTime.limited("a packet", { try? RPCPacket(parsing: text) }) else { return }
    let line = ProcessorTime.limited("a line") { packet.line(of: packet.messages) }
    precondition(line.count { $0 == 0x0A } == 1 && line.last == 0x0A && !line.contains(0x0D), "not one line")
    precondition((try? RPCPacket(parsing: line))?.messages.map(\.kind) == packet.messages.map(\.kind))
    if let value = try? JSONValue(parsing: text, maximumDepth: 130) {
        precondition(
            (try? JSONValue(parsing: line, maximumDepth: 130)) == value,
            "what is written reads otherwise"
        )
    }
    let fields = ProcessorTime.limited("the fields of a packet") {
        MCPRoutingHeaders.version(of: packet).map { MCPRoutingHeaders.fields(for: packet, version: $0) } ?? []
    }
    precondition(
        fields.allSatisfy { $0.value.utf8.allSatisfy { (0x20...0x7E).contains($0) } },
        "no field's value"
    )
    for message in packet.messages {
        let answer = RPCFailure(.failed, "failed").line(to: message.requestID)
        precondition((try? RPCPacket(parsing: answer))?.single?.answeredID == message.requestID)
    }
}

/// Checks that a stream has the same events for all piece sizes, and that its buffer stays within the limit.
private func fuzzEvents(_ text: [UInt8]) {
    func events(in pieces: [ArraySlice<UInt8>]) -> [ServerSentEvents.Event]? {
        var stream = ServerSentEvents(longest: 4096)
        var found: [ServerSentEvents.Event] = []
        for piece in pieces {
            guard let more = try? stream.append(Array(piece)) else { return nil }
            found += more
            precondition(stream.held <= 4096 && stream.lastID?.utf8.isEmpty != true)
        }
        return found
    }
    ProcessorTime.limited("a stream of events") {
        let whole = events(in: [text[...]])
        let middle = text.count / 2
        let cut = events(in: [text[..<middle], text[middle...]])
        precondition(whole == cut, "a stream that is cut says something else")
    }
}

private func fuzzLines(_ text: [UInt8]) {
    ProcessorTime.limited("lines") {
        var lines = MessageLines(longest: 256)
        for start in stride(from: 0, to: text.count, by: 1000) {
            lines.append(Array(text[start..<min(text.count, start + 1000)]))
            while let line = lines.next() {
                guard case .message(let bytes) = line else { continue }
                precondition((1...256).contains(bytes.count) && !bytes.contains(0x0A))
            }
        }
    }
}

/// Reads a list of tools, a line feed, and a tool call.
private func fuzzTools(_ text: [UInt8]) {
    let parts = text.split(separator: 0x0A, maxSplits: 1)
    guard parts.count == 2, let list = try? RPCPacket(parsing: Array(parts[0])),
        let call = try? RPCPacket(parsing: Array(parts[1]))
    else { return }
    var parameters = MCPParameterHeaders()
    ProcessorTime.limited("a list of tools") { parameters.note(list) }
    let fields = ProcessorTime.limited("the fields of a call") { parameters.fields(for: call) }
    precondition(fields.count <= 32)
    for field in fields {
        precondition(field.name.utf8.allSatisfy(\.isTokenByte), "no field's name")
        precondition(field.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "no field's value")
    }
}
