// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import TokenCore

/// The configuration that the agent works with, and how it is replaced.
///
/// Confined to the agent's event loop.
final class LiveConfiguration {
    /// The most names of sessions that a failure lists.
    private static let maximumNames = 8

    private let source: any ConfigurationProviding
    private let storeThread: StoreThread
    private let logger: Logger
    /// The files that it names, for the present tokens of sessions.
    let files: TokenFiles
    private(set) var current: AgentConfiguration {
        didSet {
            rules = ActiveRules(current)
            derived = DerivedSessions(current)
        }
    }
    private(set) var rules: ActiveRules
    private(set) var derived: DerivedSessions
    /// Called with each configuration as soon as it is in force.
    private var follower: @Sendable (AgentConfiguration) -> Void = { _ in }
    private var lookForUnopened: @Sendable () -> [UnopenedSocket] = { [] }
    /// When the agent looks at its configuration by itself.
    private var watch = ConfigurationWatch()
    /// Whether the configuration is to be read again when the agent is unlocked.
    private var needsReload = false
    /// Whether one is being put in force; others wait.
    private var isAdopting = false
    private let turns: LoopWaiters

    init(
        _ configuration: AgentConfiguration,
        source: any ConfigurationProviding,
        storeThread: StoreThread,
        files: TokenFiles,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        turns = LoopWaiters(eventLoop: eventLoop)
        current = configuration
        rules = ActiveRules(configuration)
        derived = DerivedSessions(configuration)
        self.source = source
        self.storeThread = storeThread
        self.files = files
        self.logger = logger
    }

    /// The settings of a session; `nil` if there is no such session.
    subscript(name: SessionName) -> SessionSettings? { current.sessions[name] }

    /// Calls `action` on the event loop with the present configuration, and again with every later one; `unopened` gives the
    /// sockets that cannot be opened now.
    func follow(
        _ action: @escaping @Sendable (AgentConfiguration) -> Void,
        unopened: @escaping @Sendable () -> [UnopenedSocket]
    ) {
        follower = action
        lookForUnopened = unopened
        action(current)
    }

    /// The sockets that cannot be opened now.
    var unopened: [UnopenedSocket] { lookForUnopened() }

    // MARK: Reloading

    /// Reads the configuration again and puts it in force.
    ///
    /// - Returns: what it changed.
    /// - Throws: ``RequestFailure``; the old configuration then stays in force.
    @discardableResult
    func reload(
        by origin: AuditRecord.Origin,
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

    /// Waits until this host has nothing more that the fleets of the sessions need which leave by a reload.
    ///
    /// - Throws: ``RequestFailure`` if etcd cannot be given it now.
    private func admitLeavers(in agent: isolated SessionAgent) async throws(RequestFailure) {
        guard agent.sessions.keys.contains(where: { UnpublishedChange.refusal(of: $0, in: agent) != nil })
        else {
            return
        }
        let coming: AgentConfiguration
        do throws(RequestFailure) {
            coming = try await fromDisk { source throws(RequestFailure) in try source.preview() }
        } catch {
            // The reading that follows says what is wrong.
            return
        }
        let leaving = Set(agent.sessions.leaving(under: coming).keys)
        guard leaving.contains(where: { UnpublishedChange.refusal(of: $0, in: agent) != nil }) else { return }
        logger.notice("the configuration is read once the fleet has what only this host has")
        await agent.fleet.waitUntilPublished(leaving, in: agent)
        guard agent.isServing else { throw agent.stopping }
        let debts = leaving.sorted().lazy.compactMap { UnpublishedChange.refusal(of: $0, in: agent) }
        guard let debt = debts.first else { return }
        for name in leaving { agent.fleet.cancelDeparture(name, in: agent) }
        throw debt
    }

    /// Has the configuration read as soon as the agent is unlocked.
    func reloadOnceUnlocked() {
        needsReload = true
        logger.notice("locked; the configuration is read again when unlocked")
    }

    /// Reads the configuration if ``reloadOnceUnlocked()`` was called before; logs a failure.
    func readOwed(isolation: isolated (any Actor)? = #isolation) async -> LoadedConfiguration? {
        guard needsReload else { return nil }
        needsReload = false
        do throws(RequestFailure) {
            return try await read()
        } catch {
            logger.error("the configuration was not reloaded; the old one stays in force")
            return nil
        }
    }

    /// What ``reload(by:in:)`` would change.
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

    /// Puts `loaded` in force, for the sockets and the sessions too; one configuration after the other.
    ///
    /// - Returns: what changed, with what turned out to need a restart.
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
                reason: "\(socket.path) cannot be opened: \(socket.reason)"
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
                "left before its fleet had everything",
                name,
                ["error": "\(debt.message)"]
            )
        }
        await agent.changeSessions()
        // Who has kept a token of a session that is gone, or hidden now, asks again.
        agent.publish(.reloaded)
        // Only now, so that nobody meets the old sessions under new rules.
        let closedOff = await files.adopt(current.files, in: agent)
        tell(closedOff)
        changes.restarts += closedOff
        files.followAll(in: agent)
        await files.untilWritten()
        return changes
    }

    private func tell(_ restarts: [ConfigurationChanges.Restart]) {
        for restart in restarts {
            let values: Logger.Metadata = ["key": "\(restart.key)", "reason": "\(restart.reason)"]
            logger.warning("this needs a restart of the agent", metadata: values)
        }
    }

    // MARK: Watching

    /// Whether to look at the file now: before a login, and before the agent tells its own user that a
    /// session does not exist.
    ///
    /// A yes counts as a look. Hidden and unknown names are treated alike, and only the agent's own user at
    /// its own socket causes a look.
    /// `isKept` says whether the agent has the session that the address names.
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

    /// Whether the file holds another configuration; one that was only touched does not.
    func hasChanged(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let source = source
        return await storeThread.result { _ in
            guard source.hasChanged() else { return false }
            do throws(RequestFailure) {
                return try !source.changes().isEmpty
            } catch {
                // The reload that follows says what is wrong.
                return true
            }
        }
    }

    /// Adds to `failure`, if it is about an unknown session, the mistake of the latest configuration that may be why, or
    /// else the names of the sessions that this peer may know of.
    func explained(_ failure: RequestFailure, to connection: Connection) -> RequestFailure {
        guard failure.code == .notFound, let name = failure.session.flatMap({ SessionName($0) }),
            !isConfigured(name, for: connection)
        else { return failure }
        var failure = failure
        if let words = mistake(for: connection) ?? mistake(about: name, for: connection) {
            failure.message += ": " + words
            failure.remedy = "tokenctl config check"
            return failure
        }
        let names = current.sessions.keys.filter { isShown($0, to: connection) }
        guard !names.isEmpty else { return failure }
        if names.count <= Self.maximumNames {
            failure.message += " (configured: \(names.sorted().map(\.description).joined(separator: ", ")))"
        }
        // No session can be made through a restricted socket, and among many the name may be another one.
        if names.count > Self.maximumNames || connection.caller.isRestricted {
            failure.remedy = "tokenctl list"
        }
        return failure
    }

    /// The mistake of the latest configuration, in words for this peer; `nil` if it may know of none.
    func mistake(for connection: Connection) -> String? {
        guard let mistake = watch.mistake, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "The configuration has changed and has a mistake, so the old one stays in force"
        // The mistake may name sessions that this peer must not know of.
        return rules.exist ? words + "." : words + ": " + mistake
    }

    /// Why the session `name` was not taken over, in words for this peer.
    private func mistake(about name: SessionName, for connection: Connection) -> String? {
        let found =
            current.mistakes.first { $0.session == name } ?? current.mistakes.first { $0.session == nil }
        guard let found, connection.caller.isOwnUserAtOwnSocket else { return nil }
        let words = "A file of the configuration has a mistake and was left out"
        return rules.exist ? words + "." : words + ": " + found.line
    }

    /// Whether this peer may be told of a mistake: which peers may know of a session that was left out is not known.
    func isShown(_ mistake: SessionConfigurationError, to connection: Connection) -> Bool {
        guard let name = mistake.session else { return true }
        return self[name] == nil ? !rules.exist : isShown(name, to: connection)
    }
}
