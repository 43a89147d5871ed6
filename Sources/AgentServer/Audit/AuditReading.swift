// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text
import TokenCore

/// Which lines of the audit log a peer gets.
struct AuditSelection: Sendable {
    /// Only lines about this session; `nil` for lines about all.
    var session: SessionName?
    /// No lines about these, nor their names in others.
    var hidden: Set<SessionName> = []

    /// The wanted lines of `text`; lines about the agent itself, or about lost lines, name no session.
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

/// Writes the audit log to one peer, piece by piece as the peer takes them.
///
/// Confined to the event loop.
final class AuditReading: @unchecked Sendable {
    // Unchecked: used on the event loop alone.
    private let trail: AuditTrail
    private let selection: AuditSelection
    private let connection: Connection
    /// Whether the answer goes on after the last line; its peer may then be as slow as it likes.
    let follows: Bool
    /// Called when all lines written so far are on their way; `isEmpty` if there were none.
    private let onEnd: (_ reading: AuditReading, _ isEmpty: Bool) -> Void
    private var position = AuditPosition()
    /// Read but not sent: an answer of one piece gets a length, so the second piece is awaited first.
    private var first: [UInt8]?
    private var isStreaming = false

    init(
        _ trail: AuditTrail,
        _ selection: AuditSelection,
        on connection: Connection,
        follows: Bool,
        onEnd: @escaping (_ reading: AuditReading, _ isEmpty: Bool) -> Void
    ) {
        self.trail = trail
        self.selection = selection
        self.connection = connection
        self.follows = follows
        self.onEnd = onEnd
    }

    /// Begins, after the lines that are still in memory have been written.
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

    /// Ends the answer with all that there is.
    func finish() {
        guard !isStreaming else { return connection.endStream() }
        var answer = HTTPResponse(status: .ok, body: first ?? [])
        answer.contentType = Self.contentType
        connection.answer(answer)
    }

    /// Keeps the answer open for lines that are still to come.
    func goOn() {
        if !isStreaming { connection.beginStream(Self.contentType) }
        isStreaming = true
        if let first { connection.stream(first) }
        first = nil
    }

    private static let contentType: StaticString = "application/x-ndjson"
}
