// SPDX-License-Identifier: MIT

import TokenCore

/// A session before it takes part in its fleet.
struct JoiningSession {
    let timing: FleetTiming
    private(set) var keeping: FleetKeeping?
    /// The login that it had before it was shared.
    private(set) var login: SessionSnapshot?
    /// What this host's settings say of it.
    let binding: FleetBinding

    /// `nil`: a person has logged it out at this host alone.
    init?(
        _ settings: SessionSettings,
        _ binding: FleetBinding,
        _ content: StoredSession.Content?,
        _ port: FleetPort
    ) {
        self.binding = binding
        guard case .record(let loaded) = content else {
            timing = FleetTiming(reuse: settings.reuse, patience: port.patience)
            return
        }
        let snapshot = loaded.snapshot
        guard !snapshot.isHereAlone else { return nil }
        keeping = snapshot.fleet
        // It may be the answer what ends the agent, and another host has its own by the time this one looks.
        if loaded.interruption?.wait != .zero { keeping?.memory.sending = nil }
        if keeping?.memory.lacksTokens(in: snapshot, at: port.role) == true { keeping?.attempt = nil }
        timing = FleetTiming(reuse: settings.reuse, patience: port.patience)
        switch snapshot.standing {
        case .loggedIn where snapshot.fleet == nil: login = snapshot
        case .loggedIn, .ended: break
        }
    }

    /// A person's login here brings the host back, which knows `keeping`.
    init(_ settings: SessionSettings, _ binding: FleetBinding, keeping: FleetKeeping?, _ port: FleetPort) {
        self.binding = binding
        self.keeping = keeping
        timing = FleetTiming(reuse: settings.reuse, patience: port.patience)
    }

    /// This host knows what has become of the login.
    var knowsLogin: Bool { keeping?.memory.knowsLogin == true || login != nil }
}

extension FleetPersistentState {
    /// Whether what this host knows can be said without a look: of a login that is over there may be a later one.
    var knowsLogin: Bool { record.map { $0.isLive || isNews } ?? false }

    /// Whether the host has not had all tokens of the record that it knows: it was a reader, or its session had ended here.
    fileprivate func lacksTokens(in snapshot: SessionSnapshot, at role: FleetRole) -> Bool {
        guard answer == nil, let record, record.isLive else { return false }
        let hasRefreshToken = if case .refreshToken = snapshot.renewal { true } else { false }
        return snapshot.secrets.isEmpty || role == .keeper && record.tokenMark != 0 && !hasRefreshToken
    }
}

extension StoredSession.Content {
    /// What the store has of a session, unless it is of another fleet's making than the settings name.
    ///
    /// A table that names another client or server must not use the fleet's login, nor must one that does not share the
    /// session any more: two would use one refresh token, and many servers end the login then. The record stays, for
    /// when the settings are put right.
    func shared(
        by name: SessionName,
        _ settings: SessionSettings,
        in agent: isolated SessionAgent
    ) -> StoredSession.Content? {
        guard case .record(let loaded) = self, let keeping = loaded.snapshot.fleet else { return self }
        guard let own = settings.fleetBinding else {
            agent.erasure.erase(loaded.snapshot.secrets)
            return .lost(
                .configurationChanged,
                message: "its login is that of a fleet, and fleet = true is not set here any more"
            )
        }
        guard let made = keeping.binding, made != own else { return self }
        agent.erasure.erase(loaded.snapshot.secrets)
        let trouble = FleetStoreError(name, differsIn: made.differences(from: own))
        agent.journal.write(.warning, "fleet", name, ["error": "\(trouble.sentence)"])
        return nil
    }
}
