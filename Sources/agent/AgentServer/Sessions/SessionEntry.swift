// SPDX-License-Identifier: MIT

import TokenCore

/// A session with the agent's data about it that its state machine does not need.
///
/// Confined to the agent's event loop; only the agent changes `session` and `settings`.
final class SessionEntry {
    var session: Session
    var settings: SessionSettings
    var counts = SessionCounters()
    /// The attempts whose requests are in flight; their responses belong to this entry.
    ///
    /// There are two if a login has replaced the session meanwhile.
    var sending: Set<AttemptNumber> = []
    /// Whether the session has left the configuration.
    var hasLeft = false
    private var standing: CachedTokenResponse?

    /// Creates an entry with the session from the store, or with a new one if `content` is `nil`.
    init(
        _ content: StoredSession.Content?,
        of name: SessionName,
        _ settings: SessionSettings,
        at moment: Moment
    ) {
        session = Session(content, name: name, policy: settings.policy, at: moment)
        // No attempt has the number of one that another entry of this name has made.
        session.numberAttempts(after: moment.now)
        self.settings = settings
    }

    /// Returns whether the session ends under other settings; `nil` means that it left the configuration.
    ///
    /// A session is loaded from its record again if it becomes shared or is no longer shared, if it is shared
    /// with other hosts, or if its client or server changes.
    func leaves(under settings: SessionSettings?) -> Bool {
        guard let settings, settings.fleetBinding == self.settings.fleetBinding else { return true }
        // A shared session reads its rules for reusing another host's refresh when it joins its fleet.
        guard !settings.policy.isShared || settings.reuse == self.settings.reuse else { return true }
        // Sessions that need no login obtain a token again.
        guard !self.settings.policy.startsByItself, !settings.policy.isShared else { return false }
        return settings.fingerprint != self.settings.fingerprint
    }

    /// Returns the failure for the waiters of a session that ends.
    func removalFailure(under settings: SessionSettings?) -> RequestFailure {
        settings == nil ? .unknown(session.name) : .changedSettings(of: session.name)
    }

    /// Returns whether the session's login is no longer used because other settings are active.
    func isReplaced(by present: SessionEntry?) -> Bool {
        session.status.state != .loggedOut && present?.session.status.reason == .configurationChanged
    }

    /// Returns the cached response for plain token requests, or `nil` if the session must be queried each
    /// time.
    func standing(at now: Instant) -> CachedTokenResponse? {
        if let standing, standing.revision == session.revision, now < standing.until { return standing }
        standing = session.cachedToken(at: now).map { CachedTokenResponse($0, of: session) }
        return standing
    }
}

/// The response to plain requests for a session's token, rendered once for all of them.
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
    /// Returns the stored content, unless its login was made with other settings.
    ///
    /// Such a login must not be used under these settings. Its record stays for the time when they are
    /// corrected.
    func accepted(under settings: SessionSettings, _ erasure: DeferredSecretErasure) -> StoredSession.Content
    {
        guard !settings.policy.isShared, !settings.policy.startsByItself, case .record(let loaded) = self,
            let made = loaded.snapshot.madeOf.map(LoginSettingsFingerprint.init),
            !made.fingerprint.utf8.elementsEqual(settings.fingerprint.utf8)
        else { return self }
        erasure.erase(loaded.snapshot.secrets)
        return .lost(
            .configurationChanged,
            message: "the login was made with another issuer or client, and works again with those settings"
        )
    }
}

extension [SessionName: SessionEntry] {
    /// Returns the entries whose sessions end under `configuration`.
    func leaving(under configuration: AgentConfiguration) -> [SessionName: SessionEntry] {
        filter { $0.value.leaves(under: configuration.sessions[$0.key]) }
    }
}
