// SPDX-License-Identifier: MIT

import TokenCore

/// The hosts that this host has removed from the fleet, and that may still know a refresh token.
///
/// A removed host's request may be in flight at its removal, and then its result becomes the record of all
/// hosts.
///
/// Confined to the agent's event loop.
final class RemovedHosts {
    private var hosts: [SessionName: Set<UInt64>] = [:]

    /// Records that `host` may know the refresh tokens of these sessions.
    func add(_ host: UInt64, knowing names: Set<SessionName>) {
        for name in names { hosts[name, default: []].insert(host) }
    }

    /// Records that `host` has written the record of a session.
    ///
    /// - Returns: `true` if the session has to be refreshed once more, as a removed host may know its refresh
    ///   token.
    @discardableResult
    func recordAuthor(by host: UInt64, of name: SessionName) -> Bool {
        guard let removed = hosts[name] else { return false }
        guard !removed.contains(host) else { return true }
        // The refresh tokens that the removed hosts know have been used.
        hosts[name] = nil
        return false
    }

    /// Returns whether the tokens of a record that `session` adopts are known to a host that must not know
    /// them.
    ///
    /// Either a removed host has written the record, or a host with an older key has. The latter counts only
    /// while this host, with its `own` attempt, was about to replace what the older key opens.
    func know(_ header: FleetHeader, of session: SharedSession, instead own: SharedAttempt?) -> Bool {
        // A reader only asks the keepers, which may have the older key themselves.
        guard session.sharing.role == .keeper else { return false }
        let isByRemoved = recordAuthor(by: header.attempt.host, of: session.name)
        let isUnderOldKey = session.record.readResult.map { $0.epoch < session.sharing.epoch } ?? false
        return header.isLive && (isByRemoved || own != nil && isUnderOldKey)
    }

    /// Forgets the removed hosts that may know tokens of one session, or of any session if `name` is `nil`.
    func forget(_ name: SessionName? = nil) {
        guard let name else {
            hosts = [:]
            return
        }
        hosts[name] = nil
    }
}
