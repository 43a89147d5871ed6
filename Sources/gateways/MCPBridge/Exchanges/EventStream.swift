// SPDX-License-Identifier: MIT

import Text

/// The position at which a stream of events broke off, with the delay before resuming it.
struct EventStreamCursor {
    /// The minimum and maximum delay before another try: a tenth of a second and five minutes.
    private static let shortest: Duration = .milliseconds(100)
    private static let longest: Duration = .seconds(300)
    /// The maximum number of failures that count once a stream has opened, so that the next try is in four
    /// seconds.
    private static let maximumWhenOpened = 2

    /// The identifier of the last event, if events have identifiers.
    private(set) var lastID: String?
    /// The number of tries since anything new has arrived.
    private(set) var failures = 0
    private var retry: Duration?

    /// Updates the position after a stream has ended.
    mutating func take(_ events: ServerSentEvents, hadMessage: Bool) {
        // A server may end a stream again and again during long work, with only a new identifier in it.
        if hadMessage || events.lastID != nil && events.lastID?.bytewise != lastID?.bytewise { failures = 0 }
        lastID = events.lastID ?? lastID
        retry = events.retry ?? retry
    }

    mutating func hasFailed() {
        failures += 1
    }

    /// Records that a stream was opened and has ended, possibly without a message.
    ///
    /// Earlier failures no longer count, except that a server that ends each stream at once gets a delay of
    /// some seconds.
    mutating func hasEnded() {
        failures = min(failures, EventStreamCursor.maximumWhenOpened)
    }

    /// The delay before the next try: the server's value or one second, doubled with each failure.
    var delay: Duration {
        let first = max(EventStreamCursor.shortest, retry ?? .seconds(1))
        return min(EventStreamCursor.longest, first * (1 << min(failures, 12)))
    }

    /// The field that tells the server from which event to resume.
    var fields: [(name: String, value: String)] {
        lastID.map { [(name: "last-event-id", value: $0)] } ?? []
    }
}

/// A reader of the messages in a response that is a stream of events.
enum EventStream {
    /// The decision of `take` after a message.
    enum ReadDecision {
        case more
        /// The rest of the stream is not needed.
        case enough
    }

    /// Passes each message to `take` until the stream ends or breaks, and updates `place`.
    ///
    /// - Throws: ``RPCFailure`` if an event is not a message, and any error of `take`.
    static func read(
        _ reply: ResourceResponse,
        at place: inout EventStreamCursor,
        _ budget: ByteBudget,
        _ take: (RPCPacket) async throws(RPCFailure) -> ReadDecision
    ) async throws(RPCFailure) {
        var share = ByteBudget.Share(of: budget)
        var events = ServerSentEvents(longest: budget.message)
        var hadMessage = false
        var body = reply.body.makeAsyncIterator()
        while let piece = try? await body.next() {
            for event in try events.append(piece) where event.type == "message" && !event.data.isEmpty {
                hadMessage = true
                let decision = try await take(try packet(event.data))
                guard decision == .more else { return place.take(events, hadMessage: true) }
            }
            try share.hold(events.held)
        }
        place.take(events, hadMessage: hadMessage)
    }

    private static func packet(_ data: [UInt8]) throws(RPCFailure) -> RPCPacket {
        do {
            return try RPCPacket(parsing: data)
        } catch {
            throw RPCFailure(.failed, "the server sent an event that is not a JSON-RPC message")
        }
    }
}
