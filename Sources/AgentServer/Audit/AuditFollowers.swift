// SPDX-License-Identifier: MIT

/// Who follows the audit log.
///
/// Confined to the agent's event loop.
final class AuditFollowers {
    private let configuration: LiveConfiguration
    private var subscribers: [ObjectIdentifier: Subscriber] = [:]

    init(configuration: LiveConfiguration) {
        self.configuration = configuration
    }

    var count: Int { subscribers.count }

    func add(_ subscriber: Subscriber) {
        subscribers[ObjectIdentifier(subscriber.connection)] = subscriber
    }

    func remove(_ connection: Connection) {
        subscribers[ObjectIdentifier(connection)] = nil
    }

    /// Passes new lines on, to each peer those that it may see.
    func written(_ records: [AuditRecord]) {
        guard !subscribers.isEmpty else { return }
        let lines = records.map { record in
            var line: [UInt8] = []
            record.write(to: &line)
            return (session: record.session, bytes: line)
        }
        for subscriber in subscribers.values {
            let wanted = lines.filter { line in
                (subscriber.session == nil || subscriber.session == line.session)
                    && line.session.map { configuration.isShown($0, to: subscriber.connection) } ?? true
            }
            if !wanted.isEmpty { subscriber.connection.stream(wanted.flatMap(\.bytes)) }
        }
    }

    /// Ends the answers to all of them.
    func end() {
        for subscriber in subscribers.values { subscriber.connection.endStream() }
        subscribers = [:]
    }
}
