// SPDX-License-Identifier: MIT

import TokenCore

/// The sessions of the active configuration: loaded from the store, changed and removed.
///
/// Confined to the agent's event loop.
final class ConfiguredSessions: SessionsReplacing {
    private let parts: AgentParts
    private let requests: RequestHandler
    private let effects: EffectExecutor
    private let timekeeper: any Timekeeper
    /// Wakes every session that is due; set once the agent exists.
    var wake: () -> Void = {}

    init(parts: AgentParts, requests: RequestHandler, effects: EffectExecutor, timekeeper: any Timekeeper) {
        self.parts = parts
        self.requests = requests
        self.effects = effects
        self.timekeeper = timekeeper
        parts.reloads.sessions = self
    }

    private var configuration: AgentConfiguration { parts.configuration.current }

    /// Begins what the loaded sessions have to do.
    func startDue() {
        parts.sources.compare()
        parts.sharing.start()
        for name in parts.registry.entries.keys { parts.registry.planWake(name) }
        parts.files.followAll()
        requests.tokens.preparations.proceed()
        wake()
    }

    /// Creates the configured sessions from the store's contents.
    func load() async {
        let contents = await parts.storeThread.result { $0.loadSessions() }
        parts.registry.removeAll()
        begin(configuration.sessions, with: contents)
    }

    /// Adds the `wanted` sessions with the store's contents, and erases the loaded secrets of all others.
    private func begin(_ wanted: [SessionName: SessionSettings], with contents: StoreContents) {
        parts.erasure.erase(contents.secrets(unless: { wanted[$0] != nil }))
        let moment = timekeeper.moment
        for (name, settings) in wanted {
            let stored = contents.content(of: name)?.accepted(under: settings, parts.erasure)
            let content = stored?.shared(by: name, settings, parts.erasure, parts.log)
            let kept = SessionEntry(content, of: name, settings, at: moment)
            parts.registry.add(kept)
            parts.clocks.date(kept, at: moment)
            if settings.policy.isShared { parts.sharing.join(name, settings, content) }
        }
    }

    /// Applies the active configuration to the sessions.
    ///
    /// Logins with the same settings continue undisturbed; others must not be used.
    func changeSessions() async {
        guard parts.phase.current == .working else { return }
        let new = configuration.sessions
        let leaving = parts.registry.entries.leaving(under: configuration)
        for (name, kept) in leaving { drop(name, kept.removalFailure(under: new[name])) }
        for (name, settings) in new { update(name, settings) }
        await beginAdded()
        for (name, kept) in leaving where kept.isReplaced(by: parts.registry[name]) {
            effects.announce(.settingsChanged, for: name, at: timekeeper.moment)
        }
    }

    private func update(_ name: SessionName, _ settings: SessionSettings) {
        let isSame = parts.registry[name]?.settings.fingerprint == settings.fingerprint
        parts.registry[name]?.settings = settings
        parts.registry.apply(name) { session, moment in
            session.policyChanged(settings.policy)
            return isSame ? session.retryAllowed(at: moment) : session.registrationChanged(at: moment)
        }
    }

    /// Removes a session and fails its waiters with `failure`; its record stays on disk.
    private func drop(_ name: SessionName, _ failure: RequestFailure) {
        requests.refuseAll(failure, about: name)
        if let entry = parts.registry.remove(name) { parts.refreshes.sessionRemoved(entry) }
        parts.sharing.sessionRemoved(name)
        parts.records.dropPending(of: name)
    }

    /// Loads the configured sessions that the agent does not have yet.
    private func beginAdded() async {
        let wanted = configuration.sessions
        guard wanted.keys.contains(where: { parts.registry[$0] == nil }) else { return }
        let contents = await parts.storeThread.result { $0.loadSessions() }
        guard parts.phase.current == .working else { return }
        begin(configuration.sessions.filter { parts.registry[$0.key] == nil }, with: contents)
        startDue()
    }
}
