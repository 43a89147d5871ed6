// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionAgent {
    /// Writes a line about a token that `connection` asked for, if there is an audit log.
    func audit(
        _ decision: AuditRecord.Decision,
        _ name: SessionName,
        _ connection: Connection,
        isIDToken: Bool = false,
        at time: WallTime? = nil
    ) {
        audit(
            isIDToken ? .idToken : .accessToken,
            decision,
            name,
            by: AuditRecord.Origin(connection),
            at: time
        )
    }

    /// Writes a line about something that was done, if there is an audit log.
    func audit(
        _ action: AuditRecord.Action,
        _ decision: AuditRecord.Decision,
        _ name: SessionName? = nil,
        by origin: AuditRecord.Origin
    ) {
        audit(.action(action), decision, name, by: origin, at: nil)
    }

    private func audit(
        _ subject: AuditRecord.Subject,
        _ decision: AuditRecord.Decision,
        _ name: SessionName?,
        by origin: AuditRecord.Origin,
        at time: WallTime?
    ) {
        guard let trail, configuration.keepsAudit else { return }
        trail.add(
            AuditRecord(
                time: time ?? ports.timekeeper.wallTime,
                session: name,
                subject: subject,
                decision: decision,
                origin: origin
            )
        )
    }

    /// What is asked for by the query of `GET /v1/audit`.
    struct AuditQuery: Equatable {
        var session: SessionName?
        /// Goes on with new lines as they are written.
        var follows = false
    }

    /// Serves `GET /v1/audit`: the lines about sessions the peer may see.
    func serveAudit(_ query: Substring, on connection: Connection) throws(RequestFailure) {
        let query = try AuditQuery(query)
        guard let trail else {
            throw RequestFailure(code: .misconfigured, message: "There is no audit log.")
        }
        let selection = AuditSelection(
            session: query.session,
            hidden: Set(sessions.keys.filter { !isShown($0, to: connection) })
        )
        let reading = AuditReading(trail, selection, on: connection, follows: query.follows) {
            reading,
            isEmpty in
            self.assumeIsolated { $0.finishAudit(reading, isEmpty: isEmpty, query.session, on: connection) }
        }
        reading.begin()
    }

    /// A session that is no longer configured is known by its lines.
    private func finishAudit(
        _ reading: AuditReading,
        isEmpty: Bool,
        _ session: SessionName?,
        on connection: Connection
    ) {
        if let name = session, isEmpty, !isConfigured(name, for: connection) {
            return connection.answer(Answer(unknown(name)))
        }
        guard reading.follows else { return reading.finish() }
        connection.awaited = .events
        reading.goOn()
        auditFollowers[ObjectIdentifier(connection)] = Subscriber(
            connection: connection,
            session: session
        )
    }

    /// Passes new lines on to those who follow the log.
    func auditWritten(_ records: [AuditRecord]) {
        guard !auditFollowers.isEmpty else { return }
        let lines = records.map { record in
            var line: [UInt8] = []
            record.write(to: &line)
            return (session: record.session, bytes: line)
        }
        for follower in auditFollowers.values {
            let wanted = lines.filter { line in
                (follower.session == nil || follower.session == line.session)
                    && line.session.map { isShown($0, to: follower.connection) } ?? true
            }
            if !wanted.isEmpty { follower.connection.stream(wanted.flatMap(\.bytes)) }
        }
    }
}

extension SessionAgent.AuditQuery {
    init(_ text: Substring) throws(RequestFailure) {
        guard !text.isEmpty else { return }
        let complaint = RequestFailure(
            code: .badRequest,
            message: "The parameters are session=NAME and follow=1."
        )
        guard let parameters = RequestTarget.parameters(of: text) else { throw complaint }
        for (name, value) in parameters {
            switch name {
            case "session":
                guard session == nil, !value.isEmpty else { throw complaint }
                session = try SessionName(asked: value)
            case "follow":
                guard value == "1" || value == "0" else { throw complaint }
                follows = value == "1"
            default: throw complaint
            }
        }
    }
}
