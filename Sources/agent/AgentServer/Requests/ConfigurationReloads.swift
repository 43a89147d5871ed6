// SPDX-License-Identifier: MIT

import Logging
import TokenCore

/// Makes the sessions follow a new configuration.
protocol SessionsReplacing: AnyObject {
    /// Applies the active configuration to the sessions.
    func changeSessions() async
}

/// The reloads of the configuration.
///
/// - Entry points: ``reload(by:)``, ``adopt(_:)``, and ``hasChanged()`` before a login.
/// - May not: read files on the event loop; ``StoreThread`` reads them.
///
/// Confined to the agent's event loop.
final class ConfigurationReloads {
    private let configuration: LiveConfiguration
    private let source: any ConfigurationProviding
    private let storeThread: StoreThread
    private let registry: SessionRegistry
    private let fleet: any SessionSharing
    private let files: TokenFiles
    private let phase: AgentPhase
    private let events: Subscriptions
    private let audit: AuditLog
    private let log: SessionLog
    /// Replaces the sessions; set once all parts exist.
    weak var sessions: (any SessionsReplacing)?
    /// Whether the configuration is read again when the agent is unlocked.
    private var needsReload = false
    /// The turns of configurations to be applied.
    private let turns = AsyncMutex()

    init(
        of configuration: LiveConfiguration,
        source: any ConfigurationProviding,
        storeThread: StoreThread,
        registry: SessionRegistry,
        fleet: any SessionSharing,
        files: TokenFiles,
        phase: AgentPhase,
        events: Subscriptions,
        audit: AuditLog,
        log: SessionLog
    ) {
        self.configuration = configuration
        self.source = source
        self.storeThread = storeThread
        self.registry = registry
        self.fleet = fleet
        self.files = files
        self.phase = phase
        self.events = events
        self.audit = audit
        self.log = log
    }

    /// Reads the configuration again and applies it.
    ///
    /// - Returns: The changes.
    /// - Throws: ``RequestFailure``; the previous configuration then stays active.
    @discardableResult
    func reload(by origin: RequestInitiator) async throws(RequestFailure) -> ConfigurationChanges {
        var leaving: Set<SessionName> = []
        do throws(RequestFailure) {
            leaving = try await admitLeavers()
            let changes = await adopt(try await read())
            audit.add(.reload, .done, by: origin)
            return changes
        } catch {
            for name in leaving { fleet.cancelDeparture(name) }
            audit.add(.reload, .failed, by: origin)
            throw error
        }
    }

    /// Waits until this host has published everything about the sessions that a reload removes from their
    /// fleets.
    ///
    /// - Returns: The sessions that were waited for.
    /// - Throws: ``RequestFailure`` if a change cannot be published now.
    private func admitLeavers() async throws(RequestFailure) -> Set<SessionName> {
        guard registry.entries.keys.contains(where: { fleet.refusalToLeave($0) != nil }) else { return [] }
        let coming: AgentConfiguration
        do throws(RequestFailure) {
            coming = try await fromDisk { source throws(RequestFailure) in try source.preview() }
        } catch {
            // The `read()` that follows reports the error.
            return []
        }
        let leaving = Set(registry.entries.leaving(under: coming).keys)
        guard leaving.contains(where: { fleet.refusalToLeave($0) != nil }) else { return [] }
        log.logger.notice("reload delayed until unpublished changes are in etcd")
        await fleet.waitUntilPublished(leaving)
        guard phase.isServing else { throw phase.refusal }
        let debts = leaving.sorted().lazy.compactMap { [fleet] in fleet.refusalToLeave($0) }
        guard let debt = debts.first else { return leaving }
        for name in leaving { fleet.cancelDeparture(name) }
        throw debt
    }

    /// Requests a reload for when the agent is unlocked.
    func reloadOnceUnlocked() {
        needsReload = true
        log.logger.notice("reload delayed until the agent is unlocked")
    }

    /// Reads the configuration if ``reloadOnceUnlocked()`` requested it; logs an error.
    ///
    /// - Returns: The configuration, or `nil` if none was requested or it could not be read.
    func readOwed() async -> LoadedConfiguration? {
        guard needsReload else { return nil }
        needsReload = false
        do throws(RequestFailure) {
            return try await read()
        } catch {
            log.logger.error("reload failed; the previous configuration stays active")
            return nil
        }
    }

    /// Returns the changes that ``reload(by:)`` would make.
    func changes() async throws(RequestFailure) -> ConfigurationChanges {
        try await fromDisk { source throws(RequestFailure) in try source.changes() }
    }

    private func read() async throws(RequestFailure) -> LoadedConfiguration {
        do throws(RequestFailure) {
            let loaded = try await fromDisk { source throws(RequestFailure) in try source.load() }
            configuration.latestRead(nil)
            return loaded
        } catch {
            if error.code == .misconfigured { configuration.latestRead(error.message) }
            throw error
        }
    }

    private func fromDisk<Value: Sendable>(
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
    func adopt(_ loaded: LoadedConfiguration) async -> ConfigurationChanges {
        await turns.begin()
        defer { turns.end() }
        var changes = loaded.changes
        configuration.activate(loaded.configuration)
        changes.restarts += configuration.unopened.map { socket in
            ConfigurationChanges.Restart(
                "socket",
                reason: "cannot open \(socket.path): \(socket.reason)"
            )
        }
        log.logger.notice("configuration reloaded", metadata: changes.metadata)
        tell(changes.restarts)
        let leaving = Set(registry.entries.leaving(under: configuration.current).keys)
        await fleet.waitUntilPublished(leaving)
        for name in leaving {
            guard let debt = fleet.refusalToLeave(name) else { continue }
            log.write(
                .warning,
                "left the fleet with unpublished changes",
                name,
                ["error": "\(debt.message)"]
            )
        }
        await sessions?.changeSessions()
        // Programs that cached a token of a removed or hidden session request it again.
        events.publish(.reloaded)
        // The token files come last, so that none is written for an old session under the new rules.
        let closedOff = await files.adopt(configuration.current.files)
        tell(closedOff)
        changes.restarts += closedOff
        files.followAll()
        await files.waitUntilWritten()
        return changes
    }

    private func tell(_ restarts: [ConfigurationChanges.Restart]) {
        for restart in restarts {
            let values: Logger.Metadata = ["key": "\(restart.key)", "reason": "\(restart.reason)"]
            log.logger.warning("change requires a restart of the agent", metadata: values)
        }
    }

    /// Returns whether the file has a different configuration; a new modification time alone does not count.
    func hasChanged() async -> Bool {
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
}
