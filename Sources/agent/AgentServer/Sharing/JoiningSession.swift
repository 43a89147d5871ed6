// SPDX-License-Identifier: MIT

import TokenCore

/// A session that is configured as shared, before the shared store is open.
struct JoiningSession {
    let timing: FleetTiming
    private(set) var keeping: SessionFleetState?
    /// The login that the session had before it was shared.
    private(set) var login: SessionSnapshot?
    /// The client and server that this host's settings name for the session.
    let binding: FleetLoginSettings

    /// Creates a joining session from its record on disk, or returns `nil` if the user has logged out on this
    /// host only.
    init?(
        _ settings: SessionSettings,
        _ binding: FleetLoginSettings,
        _ content: StoredSession.Content?,
        _ port: FleetDependencies
    ) {
        self.binding = binding
        guard case .record(let loaded) = content else {
            timing = FleetTiming(reuse: settings.reuse, takeoverTimeout: port.takeoverTimeout)
            return
        }
        let snapshot = loaded.snapshot
        guard !snapshot.isHereAlone else { return nil }
        keeping = snapshot.fleet
        // The response may be what crashes the agent, and another host has obtained its own by the time this
        // one reads etcd.
        if loaded.interruption?.wait != .zero { keeping?.memory.sending = nil }
        if keeping?.memory.lacksTokens(in: snapshot, at: port.role) == true { keeping?.attempt = nil }
        timing = FleetTiming(reuse: settings.reuse, takeoverTimeout: port.takeoverTimeout)
        switch snapshot.standing {
        case .loggedIn where snapshot.fleet == nil: login = snapshot
        case .loggedIn, .ended: break
        }
    }

    /// Creates a joining session for a login with which this host shares the session again, with the fleet
    /// state `keeping`.
    init(
        _ settings: SessionSettings,
        _ binding: FleetLoginSettings,
        keeping: SessionFleetState?,
        _ port: FleetDependencies
    ) {
        self.binding = binding
        self.keeping = keeping
        timing = FleetTiming(reuse: settings.reuse, takeoverTimeout: port.takeoverTimeout)
    }

    /// Whether this host knows if the session is logged in.
    var knowsLogin: Bool { keeping?.memory.knowsLogin == true || login != nil }
}

extension FleetPersistentState {
    /// Whether the login's state is known without reading etcd.
    ///
    /// An ended login may have been replaced by a later one.
    var knowsLogin: Bool { record.map { $0.isLive || isUnpublished } ?? false }

    /// Returns whether this host does not have the tokens of the record it knows, because it was a reader or
    /// the session had ended here.
    fileprivate func lacksTokens(in snapshot: SessionSnapshot, at role: FleetRole) -> Bool {
        guard answer == nil, let record, record.isLive else { return false }
        let hasRefreshToken = if case .refreshToken = snapshot.renewal { true } else { false }
        return snapshot.secrets.isEmpty || role == .keeper && record.tokenMark != 0 && !hasRefreshToken
    }
}

extension StoredSession.Content {
    /// Returns the stored content of a session, or nothing if its login in the fleet belongs to another
    /// client or server than the settings name.
    ///
    /// Settings with another client or server must not use the fleet's login. Neither must settings that do
    /// not share the session any more: two agents would use one refresh token, and many servers end the login
    /// then. The record stays on disk for when the settings are corrected.
    func shared(
        by name: SessionName,
        _ settings: SessionSettings,
        _ erasure: DeferredSecretErasure,
        _ log: SessionLog
    ) -> StoredSession.Content? {
        guard case .record(let loaded) = self, let keeping = loaded.snapshot.fleet else { return self }
        guard let own = settings.fleetBinding else {
            erasure.erase(loaded.snapshot.secrets)
            return .lost(
                .configurationChanged,
                message: "the login is shared with a fleet, but the session no longer has fleet = true"
            )
        }
        guard let made = keeping.binding, made != own else { return self }
        erasure.erase(loaded.snapshot.secrets)
        let storeError = FleetStoreError(name, differsIn: made.differences(from: own))
        log.write(.warning, "fleet login not used", name, ["error": "\(storeError.sentence)"])
        return nil
    }
}
