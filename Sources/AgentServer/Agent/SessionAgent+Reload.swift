// SPDX-License-Identifier: MIT

import Logging
import Text
import TokenCore

extension SessionAgent {
    /// Reads the configuration again and puts it in force.
    ///
    /// - Parameter origin: who wants it.
    /// - Returns: what it changed.
    /// - Throws: ``RequestFailure``; the old configuration then stays in force.
    @discardableResult
    func reload(by origin: AuditRecord.Origin) async throws(RequestFailure) -> ConfigurationChanges {
        do throws(RequestFailure) {
            let changes = await adopt(try await readConfiguration())
            audit(.reload, .done, by: origin)
            return changes
        } catch {
            audit(.reload, .failed, by: origin)
            throw error
        }
    }

    /// A signal asks to read the configuration again; while the agent is locked, as soon as it no longer is.
    package func reloadOnceUnlocked() async throws(RequestFailure) {
        guard phase == .locking || phase == .locked else {
            try await reload(by: .signal)
            return
        }
        owesReload = true
        ports.logger.notice("locked; the configuration is read again when unlocked")
    }

    /// The configuration that was to be read while the agent was locked, if one was; what is wrong with it is logged.
    func readOwedConfiguration() async -> LoadedConfiguration? {
        guard owesReload else { return nil }
        owesReload = false
        do throws(RequestFailure) {
            return try await readConfiguration()
        } catch {
            ports.logger.error("the configuration was not reloaded; the old one stays in force")
            return nil
        }
    }

    /// Serves `POST /v1/reload`; `check`: only says what a reload would change.
    func serveReload(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let isCheck = try RequestBody(request.body, members: ["check"]).bool("check") ?? false
        Task {
            do throws(RequestFailure) {
                let known = Set(configuration.sessions.keys.filter { isShown($0, to: connection) })
                let changes =
                    isCheck ? try await readChanges() : try await reload(by: AuditRecord.Origin(connection))
                let shown = changes.limited { name in
                    guard configuration.sessions[name] == nil else { return isShown(name, to: connection) }
                    // One that has gone was shown by the rules it had; those of one to come are not known yet.
                    return isCheck ? !rules.exist : known.contains(name)
                }
                let names = configuration.sessions.keys.filter { isShown($0, to: connection) }
                var object = JSONObject()
                object["sessions"] = .integer(names.count)
                shown.add(to: &object)
                connection.answer(.json(.object(object)))
            } catch {
                connection.answer(Answer(error))
            }
        }
    }

    private func readConfiguration() async throws(RequestFailure) -> LoadedConfiguration {
        do throws(RequestFailure) {
            let loaded = try await fromDisk { source throws(RequestFailure) in try source.load() }
            watch.read(nil)
            return loaded
        } catch {
            if error.code == .misconfigured { watch.read(error.message) }
            throw error
        }
    }

    private func readChanges() async throws(RequestFailure) -> ConfigurationChanges {
        try await fromDisk { source throws(RequestFailure) in try source.changes() }
    }

    private func fromDisk<Value: Sendable>(
        _ read: @escaping @Sendable (any ConfigurationProviding) throws(RequestFailure) -> Value
    ) async throws(RequestFailure) -> Value {
        let source = ports.configuration
        let result = await withCheckedContinuation { continuation in
            onStoreThread { _ -> Result<Value, RequestFailure> in
                do throws(RequestFailure) {
                    return .success(try read(source))
                } catch {
                    return .failure(error)
                }
            } then: {
                continuation.resume(returning: $1)
            }
        }
        return try result.get()
    }

    /// Sessions whose identity is unchanged go on undisturbed; others must not use their old login.
    ///
    /// - Returns: what changed, with what turned out to need a restart.
    @discardableResult
    func adopt(_ loaded: LoadedConfiguration) async -> ConfigurationChanges {
        let (old, new) = (configuration, loaded.configuration)
        var changes = loaded.changes
        configuration = new
        changes.restarts += onConfiguration(new).map { socket in
            ConfigurationChanges.Restart(
                "socket",
                reason: "\(socket.path) cannot be opened: \(socket.reason)"
            )
        }
        ports.logger.notice("configuration reloaded", metadata: changes.metadata)
        for restart in changes.restarts {
            let values: Logger.Metadata = ["key": "\(restart.key)", "reason": "\(restart.reason)"]
            ports.logger.warning("this needs a restart of the agent", metadata: values)
        }
        guard phase == .working else { return changes }
        for name in sessions.keys where new.sessions[name] == nil { drop(name) }
        for (name, settings) in new.sessions where sessions[name] != nil {
            update(name, settings, isSame: old.sessions[name]?.fingerprint == settings.fingerprint)
        }
        await beginAdded()
        return changes
    }

    private func update(_ name: SessionName, _ settings: SessionSettings, isSame: Bool) {
        sessions[name]?.settings = settings
        apply(name) { session, moment in
            session.policyChanged(settings.policy)
            return isSame ? session.retryAllowed(at: moment) : session.registrationChanged(at: moment)
        }
    }

    /// The session is no longer configured: its record stays, nothing of it is served.
    ///
    /// What a refresh under way will bring belongs into that record: see ``keepForRecord(_:_:jitter:)``.
    private func drop(_ name: SessionName) {
        for (number, login) in logins where login.session == name { cancelLogin(number) }
        for (waiter, call) in calls where call.session == name {
            calls[waiter] = nil
            answer(unknown(name), to: call)
        }
        for connection in sessions[name]?.logouts ?? [] { connection.answer(Answer(unknown(name))) }
        if let session = sessions[name]?.session {
            if session.awaitsAnswer { departing[name] = session } else { eraseSecrets(of: session) }
        }
        sessions[name] = nil
        planWake(name)
    }

    /// The refresh of a session that has left is answered: its record gets what came, for the day it returns.
    func keepForRecord(_ name: SessionName, _ outcome: RefreshOutcome, of attempt: AttemptNumber) {
        guard var session = departing.removeValue(forKey: name) else { return }
        for effect in session.refreshFinished(attempt, outcome, jitter: 0, at: ports.timekeeper.moment) {
            switch effect {
            case .commit(_, let snapshot):
                onStoreThread {
                    _ = $0.commit(name, snapshot)
                } then: { _, _ in
                }
                for secret in snapshot.secrets { erase(secret) }
            case .release(_, let snapshot, let answered): release(snapshot, answered: answered, for: name)
            default: continue
            }
        }
        eraseSecrets(of: session)
    }

    /// The refresh of a session that has left will not be sent after all.
    func forgetDeparted(_ name: SessionName) {
        if let session = departing.removeValue(forKey: name) { eraseSecrets(of: session) }
    }

    private func eraseSecrets(of session: Session) {
        for secret in session.snapshot(at: ports.timekeeper.moment)?.secrets ?? [] { erase(secret) }
    }

    /// Begins the configured sessions that the agent does not have yet.
    private func beginAdded() async {
        guard configuration.sessions.keys.contains(where: { sessions[$0] == nil }) else { return }
        let contents = await readStore()
        guard phase == .working else { return }
        let added = configuration.sessions.filter { sessions[$0.key] == nil }
        begin(added, with: contents)
        for name in added.keys { planWake(name) }
    }
}
