// SPDX-License-Identifier: MIT

import TokenCore

/// The port to a fleet: sessions that this host shares with other hosts.
///
/// It is the only thing that the other parts of the agent know of fleets. ``FleetCoordinator`` shares sessions through
/// etcd, and ``NoSharing`` is for an agent without a fleet.
///
/// Confined to the agent's event loop.
protocol SessionSharing: AnyObject {
    /// The part that makes refresh attempts; set once it exists.
    var refreshes: (any SharedRefreshDecisionReceiver)? { get set }

    // MARK: Sessions

    /// Adds a session to the fleet, effective at the next ``start()``; `content` is what the store had of it.
    func join(_ name: SessionName, _ settings: SessionSettings, _ content: StoredSession.Content?)

    /// Starts the sessions that have joined.
    func start()

    /// Removes a session that is no longer configured.
    func sessionRemoved(_ name: SessionName)

    /// Drops all state, because the agent locks or stops.
    func forget()

    /// Continues the sessions whose time has come.
    func timeReached()

    // MARK: Status

    /// Returns the status of a session, with what the fleet has to say of it.
    func status(of session: Session) -> SessionStatus

    /// Returns the reason why it is unknown whether the session is logged in, or `nil` if that is known or the session
    /// is not shared.
    func blank(of name: SessionName) -> FleetUnknownReason?

    /// Returns the reason the fleet cannot serve a session, or `nil` if it can.
    func silence(on name: SessionName) -> FleetUnknownReason?

    /// Reads a session's record from etcd, and waits until the resulting actions are finished or have failed.
    func look(at name: SessionName) async

    /// Whether etcd is reachable, or `nil` without a fleet.
    var isReachable: Bool? { get }

    /// Returns the generation of the fleet's tokens that this host has of the session, or `nil` if it has none.
    func generation(of name: SessionName) -> UInt64?

    // MARK: Logins and logouts

    /// Returns the failure of a login that could never reach the fleet, or `nil` if it could.
    func loginObstacle(to name: SessionName) -> RequestFailure?

    /// Returns whether a login has to wait until this host knows the fleet's current login.
    func delaysLogin(to name: SessionName) -> Bool

    /// Waits until a new login counts as later than the fleet's current login, as far as this host can know.
    ///
    /// - Throws: ``RequestFailure`` if the login would count as older than the fleet's, or could not reach the fleet.
    func waitUntilLoginAllowed(to name: SessionName) async throws(RequestFailure)

    /// Returns whether a logout of all hosts has to wait until this host knows the login that it ends.
    func delaysLogout(of name: SessionName) -> Bool

    /// Waits until this host knows the login that a logout of all hosts ends, if that can be known now.
    func waitUntilLogoutAllowed(of name: SessionName) async

    /// Returns whether this host can log out all hosts.
    func admitLogout(of name: SessionName) -> SharedLogoutAdmission

    /// Stops sharing a session from which the user has logged out on this host only.
    func leave(_ name: SessionName)

    /// Returns the failure for any change that only this host has, or `nil` if there is none.
    func unpublishedChange(of name: SessionName) -> RequestFailure?

    /// Returns the failure for a change that the other hosts cannot continue without, or `nil` if there is none.
    func refusalToLeave(_ name: SessionName) -> RequestFailure?

    /// Waits until the changes of these sessions that only this host has are in etcd, unless they cannot be published
    /// now.
    func waitUntilPublished(_ names: Set<SessionName>) async

    /// Resumes a session that was about to leave the fleet and now stays.
    func cancelDeparture(_ name: SessionName)

    // MARK: Refreshes

    /// Asks whether this host may send the session's refresh token; ``refreshes`` gets the answer.
    func ask(_ number: AttemptNumber, of name: SessionName)

    /// Withdraws the request for an attempt that the session does not make, or that has ended.
    func withdraw(_ number: AttemptNumber, of name: SessionName)

    /// Returns the deadlines for the request of an attempt, or `nil` if the session is not shared.
    func fence(of number: AttemptNumber, _ name: SessionName) -> RefreshRequestDeadlines?

    /// Handles the outcome of an attempt in the fleet, and returns who handles it next.
    func answered(
        _ number: AttemptNumber,
        _ outcome: RefreshOutcome,
        of name: SessionName
    )
        -> RefreshOutcomeRecipient

    /// Revokes the tokens of a response if the session could not use them.
    func recordTokens(of outcome: RefreshOutcome, _ number: AttemptNumber, of name: SessionName)

    // MARK: Records

    /// Takes over a session's write to the disk if the fleet has to know of the change.
    ///
    /// - Returns: `true` if the commit was taken over.
    func takes(_ commit: CommitNumber, _ snapshot: SessionSnapshot, of name: SessionName) -> Bool

    /// Returns the snapshot with this host's fleet state added.
    func marked(_ snapshot: SessionSnapshot, of name: SessionName) -> SessionSnapshot

    /// Returns whether the record of a session that has ended stays on the disk, without its tokens.
    func keepsRecord(of name: SessionName) -> Bool

    /// Returns whether `effect` has to wait for the fleet, which then runs it later.
    func defersRevocation(_ effect: Effect, of name: SessionName) -> Bool
}

/// The answer to the question whether this host can log out all hosts.
enum SharedLogoutAdmission {
    case allowed
    case refused(RequestFailure)
    /// Only this host can be logged out, for the reason that the failure names.
    case onlyHere(RequestFailure)
}

/// The recipient of a refresh's outcome.
enum RefreshOutcomeRecipient {
    case session
    /// The fleet, whose record decides the session's state.
    case fleet
    /// Neither the session nor the fleet: nothing was sent, and the session asks the fleet again.
    case nobody
}

/// A receiver of the fleet's decisions about refresh attempts of shared sessions.
protocol SharedRefreshDecisionReceiver: AnyObject {
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
protocol SharedSessionNewsReceiver: AnyObject {
    /// Resumes the requests for a session whose record was read or cannot be read.
    func sharedRecordRead(of name: SessionName)
    /// Tells those who wait for a logout that etcd gets it later, because of `storeError`.
    func logoutDelayed(_ storeError: FleetStoreError, of name: SessionName)
    /// Tells those who wait for a logout that another login came first.
    func logoutOvertaken(of name: SessionName)
}
