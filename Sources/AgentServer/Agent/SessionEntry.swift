// SPDX-License-Identifier: MIT

import TokenCore

/// A session with what the agent, not the state machine, needs to know about it.
///
/// Confined to the agent's event loop; the agent alone changes session and settings.
final class SessionEntry {
    var session: Session
    var settings: SessionSettings
    var counts = SessionCounts()
    private var standing: CachedTokenResponse?

    /// The session as the store has it, or a new one if the store has none.
    init(
        _ content: StoredSession.Content?,
        of name: SessionName,
        _ settings: SessionSettings,
        at moment: Moment
    ) {
        session = Session(content, name: name, policy: settings.policy, at: moment)
        self.settings = settings
    }

    /// Whether the session does not go on under other settings.
    ///
    /// Shared from now on, or no more, or with others, or of another client or server: what its record says is looked at
    /// anew.
    func leaves(under settings: SessionSettings?) -> Bool {
        guard let settings, settings.fleetBinding == self.settings.fleetBinding else { return true }
        // When another host's refresh may be taken over is laid down as it joins its fleet.
        guard !settings.policy.isShared || settings.reuse == self.settings.reuse else { return true }
        // What needs no login is fetched anew.
        guard !self.settings.policy.startsByItself, !settings.policy.isShared else { return false }
        return settings.fingerprint != self.settings.fingerprint
    }

    /// What they are told who wait for a session that does not go on.
    func farewell(under settings: SessionSettings?) -> RequestFailure {
        settings == nil ? .unknown(session.name) : .changedSettings(of: session.name)
    }

    /// Whether its login is not used any more, as other settings are in force.
    func isReplaced(by present: SessionEntry?) -> Bool {
        session.status.state != .loggedOut && present?.session.status.reason == .configurationChanged
    }

    /// What requests for nothing but a token are answered with; `nil` if the session has to be asked each time.
    func standing(at now: Instant) -> CachedTokenResponse? {
        if let standing, standing.revision == session.revision, now < standing.until { return standing }
        standing = session.cachedToken(at: now).map { CachedTokenResponse($0, of: session) }
        return standing
    }
}

/// The answer to plain requests for a session's token, laid out once for all of them.
final class CachedTokenResponse {
    let token: SecretID
    let layout: TokenResponseTemplate
    fileprivate let until: Instant
    fileprivate let revision: UInt64

    fileprivate init(_ standing: CachedToken, of session: Session) {
        token = standing.token.secret
        layout = TokenResponseTemplate(standing.token, of: session.name)
        until = standing.until
        revision = session.revision
    }
}

extension Session {
    fileprivate init(
        _ content: StoredSession.Content?,
        name: SessionName,
        policy: SessionPolicy,
        at moment: Moment
    ) {
        switch content {
        case .record(let loaded):
            self.init(
                restoring: loaded.snapshot,
                name: name,
                policy: policy,
                interruption: loaded.interruption,
                at: moment
            )
        case .lost(let reason, let message):
            self.init(lost: reason, message: message, name: name, policy: policy)
        case nil:
            self.init(name: name, policy: policy)
        }
    }
}

extension StoredSession.Content {
    /// What the store has, unless other settings made it: they must not use its login, and its record stays for when they
    /// are put right.
    func accepted(under settings: SessionSettings, _ erasure: SecretErasure) -> StoredSession.Content {
        guard !settings.policy.isShared, !settings.policy.startsByItself, case .record(let loaded) = self,
            let made = loaded.snapshot.madeOf.map(LoginSettings.init),
            !made.fingerprint.utf8.elementsEqual(settings.fingerprint.utf8)
        else { return self }
        erasure.erase(loaded.snapshot.secrets)
        return .lost(
            .configurationChanged,
            message: "its login is of other settings of issuer or client, and is there again when they are"
        )
    }
}

/// What happened to a session since the agent started, for the metrics.
struct SessionCounts: Equatable, Sendable {
    /// Requests answered with a token.
    var served = 0
    /// Requests answered with a failure, by its code.
    var refused: [String: Int] = [:]
    /// Requests that joined a refresh somebody else had started.
    var coalesced = 0
    /// Refreshes that worked, by their reason.
    var refreshes: [RefreshReason: Int] = [:]
    /// Refreshes that failed, by their reason.
    var failedRefreshes: [RefreshReason: Int] = [:]
    /// The same failures by their class.
    var failures: [FailureClass: Int] = [:]
}

extension [SessionName: SessionEntry] {
    /// Those that do not go on as they are under `configuration`.
    func leaving(under configuration: AgentConfiguration) -> [SessionName: SessionEntry] {
        filter { $0.value.leaves(under: configuration.sessions[$0.key]) }
    }
}
