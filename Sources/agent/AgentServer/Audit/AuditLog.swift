// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The audit log: one line for each token served and each action, for peers that may read it.
///
/// - Entry points: ``add(_:_:_:isIDToken:at:)`` and its overloads, ``serve(_:on:)``.
/// - May not: contain a token, or make a token request wait for the disk (see ``AuditWriteQueue``).
///
/// Confined to the agent's event loop.
final class AuditLog {
    /// The writer of the log file, or `nil` if no log is kept.
    private let trail: AuditWriteQueue?
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let timekeeper: any Timekeeper
    let followers: AuditFollowers

    init(
        _ trail: AuditWriteQueue?,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        timekeeper: any Timekeeper
    ) {
        self.trail = trail
        self.registry = registry
        self.configuration = configuration
        self.timekeeper = timekeeper
        followers = AuditFollowers(configuration: configuration)
        trail?.onWritten = { [followers] records in followers.written(records) }
    }

    /// Whether lines are written.
    var isKept: Bool { trail != nil && configuration.current.keepsAudit }

    /// Adds a line about a token that `connection` requested.
    func add(
        _ decision: AuditRecord.AuditedOutcome,
        _ name: SessionName,
        _ connection: Connection,
        isIDToken: Bool = false,
        at time: WallTime? = nil
    ) {
        add(
            isIDToken ? .idToken : .accessToken,
            decision,
            name,
            by: .peer(of: connection),
            at: time
        )
    }

    /// Adds a line about an action.
    func add(
        _ action: AuditRecord.Action,
        _ decision: AuditRecord.AuditedOutcome,
        _ name: SessionName? = nil,
        by origin: RequestInitiator
    ) {
        add(.action(action), decision, name, by: origin, at: nil)
    }

    /// Adds a line about a token that was written to a file.
    func add(_ outlet: TokenFileTarget) {
        add(
            outlet.wantsIDToken ? .idToken : .accessToken,
            .served,
            outlet.session,
            by: .file(outlet.path),
            at: nil
        )
    }

    private func add(
        _ subject: AuditRecord.AuditedOperation,
        _ decision: AuditRecord.AuditedOutcome,
        _ name: SessionName?,
        by origin: RequestInitiator,
        at time: WallTime?
    ) {
        guard let trail, configuration.current.keepsAudit else { return }
        trail.add(
            AuditRecord(
                time: time ?? timekeeper.wallTime,
                session: name,
                source: configuration.derived.isEmpty ? nil : name.flatMap { source(of: $0) },
                subject: subject,
                decision: decision,
                origin: origin
            )
        )
    }

    /// Returns the session that the tokens of `name` are made from.
    private func source(of name: SessionName) -> SessionName? {
        configuration[name]?.sources.all.first?.session
    }

    /// Serves `GET /v1/audit`: the lines about sessions that the peer may see.
    ///
    /// - Throws: ``RequestFailure`` if the query is invalid or no log is kept.
    func serve(_ query: Substring, on connection: Connection) throws(RequestFailure) {
        let query = try AuditQuery(query)
        guard let trail else {
            throw RequestFailure(
                code: .misconfigured,
                message: "no audit log",
                remedy: .set("audit = true in [agent]")
            )
        }
        let selection = AuditSelection(
            session: query.session,
            hidden: Set(registry.entries.keys.filter { !configuration.isShown($0, to: connection) })
        )
        let reading = AuditLogResponse(trail, selection, on: connection, follows: query.follows) {
            [self] reading, isEmpty in
            finish(reading, isEmpty: isEmpty, query.session, on: connection)
        }
        reading.begin()
    }

    /// Ends the response, or follows the log, once all lines have been sent.
    ///
    /// A session that is no longer configured counts as known if it has lines.
    private func finish(
        _ reading: AuditLogResponse,
        isEmpty: Bool,
        _ session: SessionName?,
        on connection: Connection
    ) {
        if let name = session, isEmpty, !configuration.isConfigured(name, for: connection) {
            return connection.answer(HTTPResponse(.unknown(name)))
        }
        guard reading.follows else { return reading.finish() }
        connection.awaited = .events
        reading.continueReading()
        followers.add(Subscriber(connection: connection, session: session))
    }

    /// Removes the follower of `connection`, whose peer closed it.
    func withdraw(_ connection: Connection) {
        followers.remove(connection)
    }

    /// The number of connections that follow the log.
    var followerCount: Int { followers.count }

    /// Writes the remaining lines and ends the responses to the followers.
    func end() async {
        try? await trail?.flush().get()
        followers.end()
    }
}
