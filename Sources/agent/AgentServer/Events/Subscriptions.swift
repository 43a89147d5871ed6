// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The subscribers of `GET /v1/events`, and the forwarding of events to hooks.
///
/// - Entry points: ``serve(_:on:)`` for a new subscriber, ``publish(_:)`` for an event.
/// - May not: send a peer events of sessions, or names of source sessions, that are hidden from it.
///
/// Confined to the agent's event loop.
final class Subscriptions {
    private let observer: any EventObserving
    private let configuration: LiveConfiguration
    private let timekeeper: any Timekeeper
    private var subscribers: [ObjectIdentifier: Subscriber] = [:]

    init(observer: any EventObserving, configuration: LiveConfiguration, timekeeper: any Timekeeper) {
        self.observer = observer
        self.configuration = configuration
        self.timekeeper = timekeeper
    }

    /// The number of subscribers.
    var count: Int { subscribers.count }

    /// Sends an event of the agent itself to subscribers and hooks.
    func publish(_ event: EventName, because reason: String? = nil) {
        publish(AgentEvent(event, session: nil, time: timekeeper.wallTime, reason: reason))
    }

    /// Sends an event to subscribers and hooks.
    func publish(_ event: AgentEvent) {
        observer.observe(event)
        guard !subscribers.isEmpty else { return }
        let line = event.line
        for subscriber in subscribers.values where subscriber.wants(event) {
            let connection = subscriber.connection
            guard let session = event.session else {
                connection.stream(line)
                continue
            }
            guard configuration.isShown(session, to: connection) else { continue }
            let hidden = configuration.hiddenSources(of: session, from: connection)
            connection.stream(hidden.names.isEmpty ? line : event.without(hidden).line)
        }
    }

    /// Serves `GET /v1/events` until the peer closes the connection.
    ///
    /// - Throws: ``RequestFailure`` if the query is invalid or the session is unknown.
    func serve(_ query: Substring, on connection: Connection) throws(RequestFailure) {
        let session = try Route.sessionFilter(query)
        if let session, !configuration.isConfigured(session, for: connection) {
            throw .unknown(session)
        }
        connection.awaited = .events
        subscribers[ObjectIdentifier(connection)] = Subscriber(connection: connection, session: session)
        connection.beginStream("application/x-ndjson")
    }

    /// Removes the subscriber of `connection`, whose peer closed it.
    func withdraw(_ connection: Connection) {
        subscribers[ObjectIdentifier(connection)] = nil
    }

    func end() {
        for subscriber in subscribers.values { subscriber.connection.endStream() }
        subscribers = [:]
    }
}

extension AgentEvent {
    /// Creates an event of a session.
    init(_ event: SessionEvent, of name: SessionName, at moment: Moment) {
        self.init(
            event.name,
            session: name,
            time: moment.wallTime,
            reason: event.reason,
            message: event.message,
            expiresAt: event.expiresAt.map(moment.wallTime(at:)),
            refreshReason: event.refreshReason,
            variant: event.variant
        )
    }

    /// The event as a line of `GET /v1/events`.
    fileprivate var line: [UInt8] { wire.json.serialized + [.lineFeed] }

    /// Returns the event for a peer that may not see the names in `hidden`.
    fileprivate func without(_ hidden: HiddenSources) -> AgentEvent {
        var event = self
        event.message = message.map(hidden.message)
        return event
    }
}
