// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text
import TokenCore

/// The lines of the audit log that a peer may see and requested.
struct AuditSelection: Sendable {
    /// The session whose lines are selected, or `nil` for all lines.
    var session: SessionName?
    /// The sessions whose lines are omitted, and whose names are removed from other lines.
    var hidden: Set<SessionName> = []

    /// Returns the selected lines of `text`.
    ///
    /// Lines about the agent itself, or about lost lines, name no session.
    func lines(of text: [UInt8]) -> [UInt8] {
        guard session != nil || !hidden.isEmpty else { return text }
        var kept: [UInt8] = []
        for line in text.split(separator: .lineFeed) {
            guard let record = AuditMessage(parsing: line) else { continue }
            let about = record.session.flatMap { SessionName($0) }
            guard session == nil || session == about, about.map({ !hidden.contains($0) }) ?? true else {
                continue
            }
            let source = record.source.flatMap { SessionName($0) }
            kept += source.map(hidden.contains) == true ? AuditRecord.withoutSource(line) : Array(line)
            kept.append(.lineFeed)
        }
        return kept
    }
}

/// A response that sends the audit log to one peer, as fast as the peer reads it.
///
/// Confined to the agent's event loop.
final class AuditLogResponse: @unchecked Sendable {
    // Unchecked because it is only used on the event loop.
    private let trail: AuditWriteQueue
    private let selection: AuditSelection
    private let connection: Connection
    /// Whether the response continues after the last line; its peer may then read as slowly as it likes.
    let follows: Bool
    /// The action after all existing lines have been sent; `isEmpty` if there were none.
    private let onEnd: (_ reading: AuditLogResponse, _ isEmpty: Bool) -> Void
    private var position = AuditPosition()
    /// The first lines, read but not sent.
    ///
    /// A response that fits in one piece gets a length, so it is only sent once a second read has found more
    /// or nothing.
    private var first: [UInt8]?
    private var isStreaming = false

    init(
        _ trail: AuditWriteQueue,
        _ selection: AuditSelection,
        on connection: Connection,
        follows: Bool,
        onEnd: @escaping (_ reading: AuditLogResponse, _ isEmpty: Bool) -> Void
    ) {
        self.trail = trail
        self.selection = selection
        self.connection = connection
        self.follows = follows
        self.onEnd = onEnd
    }

    /// Begins the response, after the lines still in memory have been written.
    func begin() {
        trail.flush().assumeIsolated().whenComplete { [self] _ in readOn() }
    }

    private func readOn() {
        guard connection.state == .answering || connection.state == .streaming else { return }
        trail.piece(after: position, selection).assumeIsolated().whenComplete { [self] result in
            guard let piece = (try? result.get()) ?? nil else { return end() }
            position = piece.position
            send(piece.lines)
        }
    }

    private func send(_ lines: [UInt8]) {
        if lines.isEmpty { return readOn() }
        if let first {
            connection.beginStream(Self.contentType)
            isStreaming = true
            self.first = nil
            connection.stream(first)
        }
        guard isStreaming else {
            first = lines
            return readOn()
        }
        let alarm = follows ? nil : connection.schedule(after: connection.limits.stallTime) { $0.close() }
        connection.stream(lines) { [self] in
            alarm?.cancel()
            readOn()
        }
    }

    private func end() {
        guard connection.state == .answering || connection.state == .streaming else { return }
        onEnd(self, first == nil && !isStreaming)
    }

    /// Ends the response after the last existing line.
    func finish() {
        guard !isStreaming else { return connection.endStream() }
        var answer = HTTPResponse(status: .ok, body: first ?? [])
        answer.contentType = Self.contentType
        connection.answer(answer)
    }

    /// Keeps the response open for new lines.
    func continueReading() {
        if !isStreaming { connection.beginStream(Self.contentType) }
        isStreaming = true
        if let first { connection.stream(first) }
        first = nil
    }

    private static let contentType: StaticString = "application/x-ndjson"
}
