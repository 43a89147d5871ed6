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
        // After that often it may be the answer what ends the agent, and another host has it long since.
        if !loaded.interrupted || snapshot.interruptions > 1 { keeping?.memory.sending = nil }
        let isKept = snapshot.rotation == .keeps
        timing = FleetTiming(reuse: isKept ? .accepted : settings.reuse, patience: port.patience)
        switch snapshot.standing {
        case .loggedIn where snapshot.fleet == nil: login = snapshot
        case .loggedIn, .ended: break
        }
    }

    /// This host knows what has become of the login.
    var knowsLogin: Bool { keeping?.memory.record != nil || login != nil }
}
