// SPDX-License-Identifier: MIT

import Text

/// Where a stream of events has broken off, and how to come back to it.
struct EventStreamCursor {
    /// Shortest and longest wait before another try: a tenth of a second, five minutes.
    private static let shortest: Duration = .milliseconds(100)
    private static let longest: Duration = .seconds(300)
    /// Most failures that count once a stream has opened: the next try is in four seconds.
    private static let mostOnceOpened = 2

    /// The last event that has come, if events have identifiers.
    private(set) var lastID: String?
    /// Tries since something has come.
    private(set) var failures = 0
    private var retry: Duration?

    /// Takes up what a stream has said until it ended.
    mutating func take(_ events: ServerSentEvents, hadMessage: Bool) {
        // A server may end a stream again and again during long work, with no more than a new identifier in it.
        if hadMessage || events.lastID != nil && events.lastID?.bytewise != lastID?.bytewise { failures = 0 }
        lastID = events.lastID ?? lastID
        retry = events.retry ?? retry
    }

    mutating func hasFailed() {
        failures += 1
    }

    /// A stream that may well bring nothing was opened, and has ended.
    ///
    /// What failed before is over, but a server that ends each stream at once is left alone for some seconds.
    mutating func hasEnded() {
        failures = min(failures, EventStreamCursor.mostOnceOpened)
    }

    /// How long to wait before the next try: as the server wants, else a second, doubled with each failure.
    var pause: Duration {
        let first = max(EventStreamCursor.shortest, retry ?? .seconds(1))
        return min(EventStreamCursor.longest, first * (1 << min(failures, 12)))
    }

    /// The field that tells the server where to go on.
    var fields: [(name: String, value: String)] {
        lastID.map { [(name: "last-event-id", value: $0)] } ?? []
    }
}

/// Reads the messages in an answer that is a stream of events.
enum EventStream {
    /// What `take` says after a message.
    enum Wish {
        case more
        /// Nothing else of the stream is of use.
        case enough
    }

    /// Hands each message to `take`, until the stream ends or breaks, and notes in `place` how far it came.
    ///
    /// - Throws: ``RPCFailure`` if the stream holds what is no message, and what `take` throws.
    static func read(
        _ reply: ResourceResponse,
        at place: inout EventStreamCursor,
        _ budget: ByteBudget,
        _ take: (RPCPacket) async throws(RPCFailure) -> Wish
    ) async throws(RPCFailure) {
        var share = ByteBudget.Share(of: budget)
        var events = ServerSentEvents(longest: budget.message)
        var hadMessage = false
        var body = reply.body.makeAsyncIterator()
        while let piece = try? await body.next() {
            for event in try events.append(piece) where event.type == "message" && !event.data.isEmpty {
                hadMessage = true
                let wish = try await take(try packet(event.data))
                guard wish == .more else { return place.take(events, hadMessage: true) }
            }
            try share.hold(events.held)
        }
        place.take(events, hadMessage: hadMessage)
    }

    private static func packet(_ data: [UInt8]) throws(RPCFailure) -> RPCPacket {
        do {
            return try RPCPacket(parsing: data)
        } catch {
            throw RPCFailure(.failed, "the server sent an event that is no JSON-RPC message")
        }
    }
}
