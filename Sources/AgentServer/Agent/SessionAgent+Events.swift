// SPDX-License-Identifier: MIT

import TokenCore

extension SessionAgent {
    func announce(_ event: SessionEvent, for name: SessionName, at moment: Moment) {
        journal.note(event, of: name, at: moment)
        publish(
            AgentEvent(
                kind: event.kind.rawValue,
                session: name,
                time: moment.wallTime,
                reason: event.reason,
                message: event.message,
                expiresAt: event.expiresAt.map(moment.wallTime(at:)),
                refreshReason: event.refreshReason,
                variant: event.variant
            )
        )
    }

    /// Tells subscribers and hooks.
    func publish(_ event: AgentEvent) {
        ports.observer.observe(event)
        guard !subscribers.isEmpty else { return }
        let line = event.json.serialized + [.lineFeed]
        for subscriber in subscribers.values where subscriber.wants(event) {
            if let session = event.session, !isShown(session, to: subscriber.connection) { continue }
            subscriber.connection.stream(line)
        }
    }

    /// Says that all sessions are locked or unlocked.
    func publish(_ kind: String) {
        publish(AgentEvent(kind: kind, session: nil, time: ports.timekeeper.wallTime))
    }

    func subscribe(_ connection: Connection, to session: SessionName?) {
        connection.awaited = .events
        subscribers[ObjectIdentifier(connection)] = Subscriber(connection: connection, session: session)
        connection.beginStream("application/x-ndjson")
    }
}
