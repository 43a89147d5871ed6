// SPDX-License-Identifier: MIT

import TokenCore

/// A receiver of the fleet's decisions about refresh attempts of shared sessions.
protocol SharedRefreshing: AnyObject {
    /// Continues an attempt that the fleet allows this host to make.
    func granted(_ attempt: AttemptNumber, for name: SessionName)
    /// Tells the session that another host is refreshing; its record or another result follows.
    func held(_ attempt: AttemptNumber, for name: SessionName)
    /// Tells the session that the attempt may not be made now.
    func refused(_ attempt: AttemptNumber, _ answer: ReservationResult, for name: SessionName)
    /// Ends an attempt that the fleet's record has made unnecessary.
    func supersededByFleet(_ attempt: AttemptNumber, for name: SessionName)
}

/// A receiver of the fleet's news for requests that wait for a shared session.
protocol SharedSessionWaiting: AnyObject {
    /// Resumes the requests for a session whose record was read or cannot be read.
    func sharedRecordRead(of name: SessionName)
    /// Tells those who wait for a logout that etcd gets it later, because of `storeError`.
    func logoutDelayed(_ storeError: FleetStoreError, of name: SessionName)
    /// Tells those who wait for a logout that another login came first.
    func logoutOvertaken(of name: SessionName)
}
