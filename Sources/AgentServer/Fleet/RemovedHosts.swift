// SPDX-License-Identifier: MIT

import TokenCore

/// Hosts that were removed at this one, as long as one of them may know a refresh token.
///
/// Its request may be under way when it is removed, and then its answer is the record of all.
///
/// Confined to the agent's event loop.
final class RemovedHosts {
    private var hosts: [SessionName: Set<UInt64>] = [:]

    /// Notes that `host` may know the refresh tokens of these sessions.
    func add(_ host: UInt64, knowing names: Set<SessionName>) {
        for name in names { hosts[name, default: []].insert(host) }
    }

    /// Notes that `host` has written the record of a session.
    ///
    /// - Returns: whether it is a removed one, so that the session has to be refreshed once more.
    @discardableResult
    func noteRecord(by host: UInt64, of name: SessionName) -> Bool {
        guard let removed = hosts[name] else { return false }
        guard !removed.contains(host) else { return true }
        // What they know is spent.
        hosts[name] = nil
        return false
    }

    /// Whether a host that is to know nothing more knows the tokens of a record that `session` adopts.
    ///
    /// A removed host has written it; or one with an older key did, when this one, with `own` attempt, was about to put an end
    /// to what that key opens.
    func know(_ header: FleetHeader, of session: SharedSession, instead own: SharedAttempt?) -> Bool {
        // A reader only asks others, who may have the older key themselves.
        guard session.sharing.role == .keeper else { return false }
        let isByRemoved = noteRecord(by: header.attempt.host, of: session.name)
        let isUnderOldKey = session.record.sight.map { $0.epoch < session.sharing.epoch } ?? false
        return header.isLive && (isByRemoved || own != nil && isUnderOldKey)
    }

    /// Forgets the session, or all of them.
    func forget(_ name: SessionName? = nil) {
        guard let name else {
            hosts = [:]
            return
        }
        hosts[name] = nil
    }
}
