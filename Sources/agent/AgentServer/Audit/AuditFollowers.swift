// SPDX-License-Identifier: MIT

import TokenCore

/// The connections that follow the audit log.
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

    /// Sends new lines to each peer that may see them.
    func written(_ records: [AuditRecord]) {
        guard !subscribers.isEmpty else { return }
        let lines = records.map { record in
            var line: [UInt8] = []
            record.write(to: &line)
            return (record: record, bytes: line)
        }
        for subscriber in subscribers.values {
            let wanted = lines.filter { line in
                let session = line.record.session
                return (subscriber.session == nil || subscriber.session == session)
                    && session.map { isShown($0, to: subscriber) } ?? true
            }
            let bytes = wanted.flatMap { line in
                line.record.source.map { isShown($0, to: subscriber) } == false
                    ? AuditRecord.withoutSource(line.bytes[...]) : line.bytes
            }
            if !bytes.isEmpty { subscriber.connection.stream(bytes) }
        }
    }

    private func isShown(_ name: SessionName, to subscriber: Subscriber) -> Bool {
        configuration.isShown(name, to: subscriber.connection)
    }

    /// Ends the responses to all followers.
    func end() {
        for subscriber in subscribers.values { subscriber.connection.endStream() }
        subscribers = [:]
    }
}
