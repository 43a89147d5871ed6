// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import Text
import TokenCore

/// The active configuration of the agent, and its replacement by a reload.
///
/// - Entry points: ``reload(by:in:)``, ``adopt(_:in:)``, and ``shouldCheckForChanges(_:isKept:for:at:)``
///   before a login.
/// - May not: read files on the event loop; ``StoreThread`` reads them.
///
/// Confined to the agent's event loop.
final class LiveConfiguration {
    /// The maximum number of session names in an error, so that its message stays readable.
    private static let maximumNames = 8

    private let source: any ConfigurationProviding
    private let storeThread: StoreThread
    private let logger: Logger
    /// The token files of the active configuration.
    let files: TokenFiles
    private(set) var current: AgentConfiguration {
        didSet {
            rules = ActiveRuleSummary(current)
            derived = DerivedSessions(current)
        }
    }
    private(set) var rules: ActiveRuleSummary
    private(set) var derived: DerivedSessions
    /// The action of ``follow(_:unopened:)``, called with each configuration once it is active.
    private var follower: @Sendable (AgentConfiguration) -> Void = { _ in }
    private var lookForUnopened: @Sendable () -> [SocketOpenFailure] = { [] }
    /// The times at which the agent checks its configuration by itself.
    private var watch = ConfigurationCheckThrottle()
    /// Whether the configuration is read again when the agent is unlocked.
    private var needsReload = false
    /// Whether a configuration is being applied; others wait in ``turns``.
    private var isAdopting = false
    private let turns: ConditionWaiters

    init(
        _ configuration: AgentConfiguration,
        source: any ConfigurationProviding,
        storeThread: StoreThread,
        files: TokenFiles,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        turns = ConditionWaiters(eventLoop: eventLoop)
        current = configuration
        rules = ActiveRuleSummary(configuration)
        derived = DerivedSessions(configuration)
        self.source = source
        self.storeThread = storeThread
        self.files = files
        self.logger = logger
    }

    /// The settings of a session, or `nil` if the session does not exist.
    subscript(name: SessionName) -> SessionSettings? { current.sessions[name] }

    /// Calls `action` on the event loop with the active configuration now, and with each later one.
    ///
    /// `unopened` returns the sockets that cannot be opened at present.
    func follow(
        _ action: @escaping @Sendable (AgentConfiguration) -> Void,
        unopened: @escaping @Sendable () -> [SocketOpenFailure]
    ) {
        follower = action
        lookForUnopened = unopened
        action(current)
    }

    /// The sockets that cannot be opened at present.
    var unopened: [SocketOpenFailure] { lookForUnopened() }

    // MARK: Reloading

    /// Reads the configuration again and applies it.
    ///
    /// - Returns: The changes.
    /// - Throws: ``RequestFailure``; the previous configuration then stays active.
    @discardableResult
    func reload(
        by origin: AuditRecord.Initiator,
        in agent: isolated SessionAgent
    ) async throws(RequestFailure) -> ConfigurationChanges {
        do throws(RequestFailure) {
            try await admitLeavers(in: agent)
            let changes = await adopt(try await read(), in: agent)
            agent.audit.add(.reload, .done, by: origin)
            return changes
        } catch {
            agent.audit.add(.reload, .failed, by: origin)
            throw error
        }
    }

    /// Waits until this host has published everything about the sessions that a reload removes from their
    /// fleets.
    ///
    /// - Throws: ``RequestFailure`` if a change cannot be published now.
    private func admitLeavers(in agent: isolated SessionAgent) async throws(RequestFailure) {
        guard agent.sessions.keys.contains(where: { UnpublishedChange.refusal(of: $0, in: agent) != nil })
        else {
            return
        }
        let coming: AgentConfiguration
        do throws(RequestFailure) {
            coming = try await fromDisk { source throws(RequestFailure) in try source.preview() }
        } catch {
            // The `read()` that follows reports the error.
            return
        }
        let leaving = Set(agent.sessions.leaving(under: coming).keys)
        guard leaving.contains(where: { UnpublishedChange.refusal(of: $0, in: agent) != nil }) else { return }
        logger.notice("reload delayed until unpublished changes are in etcd")
        await agent.fleet.waitUntilPublished(leaving, in: agent)
        guard agent.isServing else { throw agent.stopping }
        let debts = leaving.sorted().lazy.compactMap { UnpublishedChange.refusal(of: $0, in: agent) }
        guard let debt = debts.first else { return }
        for name in leaving { agent.fleet.cancelDeparture(name, in: agent) }
        throw debt
    }

    /// Requests a reload for when the agent is unlocked.
    func reloadOnceUnlocked() {
        needsReload = true
        logger.notice("reload delayed until the agent is unlocked")
    }

    /// Reads the configuration if ``reloadOnceUnlocked()`` requested it; logs an error.
    ///
    /// - Returns: The configuration, or `nil` if none was requested or it could not be read.
    func readOwed(isolation: isolated (any Actor)? = #isolation) async -> LoadedConfiguration? {
        guard needsReload else { return nil }
        needsReload = false
        do throws(RequestFailure) {
            return try await read()
        } catch {
            logger.error("reload failed; the previous configuration stays active")
            return nil
        }
    }

    /// Returns the changes that ``reload(by:in:)`` would make.
    func changes(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(RequestFailure) -> ConfigurationChanges {
        try await fromDisk { source throws(RequestFailure) in try source.changes() }
    }

    private func read(
        isolation: isolated (any Actor)? = #isolation
    ) async throws(RequestFailure) -> LoadedConfiguration {
        do throws(RequestFailure) {
            let loaded = try await fromDisk { source throws(RequestFailure) in try source.load() }
            watch.read(nil)
            return loaded
        } catch {
            if error.code == .misconfigured { watch.read(error.message) }
            throw error
        }
    }

    private func fromDisk<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ read: @escaping @Sendable (any ConfigurationProviding) throws(RequestFailure) -> Value
    ) async throws(RequestFailure) -> Value {
        let source = source
        let result = await storeThread.result { _ in
            Result { () throws(RequestFailure) in try read(source) }
        }
        return try result.get()
    }

    /// Applies `loaded` to the sockets, sessions and token files.
    ///
    /// Concurrent calls are applied one after the other.
    ///
    /// - Returns: The changes, including those that turned out to require a restart.
    @discardableResult
    func adopt(_ loaded: LoadedConfiguration, in agent: isolated SessionAgent) async -> ConfigurationChanges {
        while isAdopting { await turns.wait() }
        isAdopting = true
        defer {
            isAdopting = false
            turns.resumeAll()
        }
        var changes = loaded.changes
        current = loaded.configuration
        follower(current)
        changes.restarts += unopened.map { socket in
            ConfigurationChanges.Restart(
                "socket",
                reason: "cannot open \(socket.path): \(socket.reason)"
            )
        }
        logger.notice("configuration reloaded", metadata: changes.metadata)
        tell(changes.restarts)
        let leaving = Set(agent.sessions.leaving(under: current).keys)
        await agent.fleet.waitUntilPublished(leaving, in: agent)
        for name in leaving {
            guard let debt = UnpublishedChange.refusal(of: name, in: agent) else { continue }
            agent.journal.write(
                .warning,
                "left the fleet with unpublished changes",
                name,
                ["error": "\(debt.message)"]
            )
        }
        await agent.changeSessions()
        // Programs that cached a token of a removed or hidden session request it again.
        agent.publish(.reloaded)
        // The token files come last, so that none is written for an old session under the new rules.
        let closedOff = await files.adopt(current.files, in: agent)
        tell(closedOff)
        changes.restarts += closedOff
        files.followAll(in: agent)
        await files.waitUntilWritten()
        return changes
    }

    private func tell(_ restarts: [ConfigurationChanges.Restart]) {
        for restart in restarts {
            let values: Logger.Metadata = ["key": "\(restart.key)", "reason": "\(restart.reason)"]
            logger.warning("change requires a restart of the agent", metadata: values)
        }
    }

    // MARK: Watching

    /// Returns whether to check the configuration file: before a login, and before a session is reported as
    /// unknown.
    ///
    /// `true` counts as a check. Hidden and unknown names are treated alike, and only the agent's own user at
    /// its own socket causes a check. `isKept` says whether the agent has the session that the request's path
    /// names.
    func shouldCheckForChanges(
        _ request: HTTPRequest,
        isKept: Bool,
        for connection: Connection,
        at now: @autoclosure () -> Instant
    ) -> Bool {
        guard connection.caller.isOwnUserAtOwnSocket, let route = request.head.address.route else {
            return false
        }
        let isLogin = if case .login = route { true } else { false }
        let isAbsent =
            route.named(request.head.address.query).map { name in
                isKept ? !isShown(name, to: connection) : !isConfigured(name, for: connection)
            } ?? false
        return (isLogin || isAbsent) && watch.begins(at: now())
    }

    /// Returns whether the file has a different configuration; a new modification time alone does not count.
    func hasChanged(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let source = source
        return await storeThread.result { _ in
            guard source.hasChanged() else { return false }
            do throws(RequestFailure) {
                return try !source.changes().isEmpty
            } catch {
                // The reload that follows reports the error.
                return true
            }
        }
    }

    /// Returns `failure` with its probable cause, if it is about an unknown session.
    ///
    /// The cause is an error of the latest configuration or, without one, the message lists the sessions that
    /// this peer may see.
    func explained(_ failure: RequestFailure, to connection: Connection) -> RequestFailure {
        guard failure.code == .notFound, let name = failure.session.flatMap({ SessionName($0) }),
            !isConfigured(name, for: connection)
        else { return failure }
        var failure = failure
        if let words = mistake(for: connection) ?? mistake(about: name, for: connection) {
            failure.message += ": " + words
            failure.remedy = .run("tokenctl config check")
            return failure
        }
        let names = current.sessions.keys.filter { isShown($0, to: connection) }
        guard !names.isEmpty else { return failure }
        if names.count <= Self.maximumNames {
            failure.message += " (configured: \(names.sorted().map(\.description).joined(separator: ", ")))"
        }
        // A restricted socket cannot create sessions. With many sessions, the name may be a misspelling.
        if names.count > Self.maximumNames || connection.caller.isRestricted {
            failure.remedy = .run("tokenctl list")
        }
        return failure
    }

    /// Returns the error of the latest configuration for this peer, or `nil` if the peer may not see one.
    func mistake(for connection: Connection) -> String? {
        guard let mistake = watch.mistake, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "the new configuration has an error, so the previous one stays active"
        // The error may name sessions that this peer may not see.
        return rules.exist ? words : words + ": " + mistake
    }

    /// Returns the configuration error that explains why the session `name` is missing, or `nil` if there is
    /// none or this peer may not see errors.
    private func mistake(about name: SessionName, for connection: Connection) -> String? {
        let found =
            current.mistakes.first { $0.session == name } ?? current.mistakes.first { $0.session == nil }
        guard let found, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "a configuration file has an error and was skipped"
        return rules.exist ? words : words + ": " + found.line
    }

    /// Returns whether this peer may see an error of the configuration.
    ///
    /// For an excluded session it is unknown which peers may see it, so its error is shown only if no rules
    /// exist.
    func isShown(_ mistake: SessionConfigurationError, to connection: Connection) -> Bool {
        guard let name = mistake.session else { return true }
        return self[name] == nil ? !rules.exist : isShown(name, to: connection)
    }
}
