// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// Tells what happens to those who read `GET /v1/events`, and to hooks.
///
/// Confined to the agent's event loop.
final class Subscriptions {
    private let observer: any EventObserving
    private var subscribers: [ObjectIdentifier: Subscriber] = [:]

    init(observer: any EventObserving) {
        self.observer = observer
    }

    /// How many peers read the events.
    var count: Int { subscribers.count }

    /// Tells subscribers and hooks.
    func publish(_ event: AgentEvent, in agent: isolated SessionAgent) {
        observer.observe(event)
        guard !subscribers.isEmpty else { return }
        let line = event.line
        for subscriber in subscribers.values where subscriber.wants(event) {
            let connection = subscriber.connection
            guard let session = event.session else {
                connection.stream(line)
                continue
            }
            guard agent.configuration.isShown(session, to: connection) else { continue }
            let hidden = agent.configuration.hiddenSources(of: session, from: connection)
            connection.stream(hidden.names.isEmpty ? line : event.without(hidden).line)
        }
    }

    /// Serves `GET /v1/events`.
    func serve(
        _ query: Substring,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let session = try Self.filter(query)
        if let session, !agent.configuration.isConfigured(session, for: connection) {
            throw .unknown(session)
        }
        connection.awaited = .events
        subscribers[ObjectIdentifier(connection)] = Subscriber(connection: connection, session: session)
        connection.beginStream("application/x-ndjson")
    }

    /// `?session=NAME`: only the events of that session.
    static func filter(_ query: Substring) throws(RequestFailure) -> SessionName? {
        guard !query.isEmpty else { return nil }
        guard let parameters = RequestTarget.parameters(of: query), parameters.count == 1,
            parameters[0].name == "session", !parameters[0].value.isEmpty
        else { throw RequestFailure(code: .badRequest, message: "The only parameter is session=NAME.") }
        return try SessionName(asked: parameters[0].value)
    }

    /// The peer of `connection` left.
    func withdraw(_ connection: Connection) {
        subscribers[ObjectIdentifier(connection)] = nil
    }

    func end() {
        for subscriber in subscribers.values { subscriber.connection.endStream() }
        subscribers = [:]
    }
}

extension AgentEvent {
    /// Something that happened to a session.
    init(_ event: SessionEvent, of name: SessionName, at moment: Moment) {
        self.init(
            EventName(event.kind),
            session: name,
            time: moment.wallTime,
            reason: event.reason,
            message: event.message,
            expiresAt: event.expiresAt.map(moment.wallTime(at:)),
            refreshReason: event.refreshReason,
            variant: event.variant
        )
    }

    /// One line of `GET /v1/events`.
    fileprivate var line: [UInt8] { wire.json.serialized + [.lineFeed] }

    /// The event as a peer is told that may not know of `hidden`.
    fileprivate func without(_ hidden: HiddenSources) -> AgentEvent {
        var event = self
        event.message = message.map(hidden.message)
        return event
    }
}

extension EventName {
    fileprivate init(_ kind: SessionEvent.Kind) {
        self =
            switch kind {
            case .refreshed: .refreshed
            case .refreshFailed: .refreshFailed
            case .loginRequired: .loginRequired
            case .expiring: .expiring
            case .loggedIn: .loggedIn
            case .loggedOut: .loggedOut
            }
    }
}
