// SPDX-License-Identifier: MIT

import TokenCore

extension FleetWait {
    /// Creates the wait during which no host may send the refresh token of `session`, or returns `nil` if
    /// none is known.
    init?(of session: SharedSession, _ port: FleetDependencies) {
        guard let view = session.record.readResult?.view,
            let wait = view.wait(
                at: port.host,
                until: session.expiry(),
                session.member.timing,
                now: session.now
            )
        else { return nil }
        self = wait
    }
}
