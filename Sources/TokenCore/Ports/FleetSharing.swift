// SPDX-License-Identifier: MIT

/// The store that the hosts of a fleet share; the port between ``FleetMember`` and etcd.
///
/// What a host has obtained is durable in its own store before any of these calls: each may fail at any time, and the next
/// look shows what has become of it.
package protocol FleetSharing: Sendable {
    /// Whether this host holds refresh tokens.
    var role: FleetRole { get }

    /// The newest epoch of the fleet's keys that this host has.
    var epoch: UInt32 { get }

    /// etcd's time now, as far as this host knows it; `nil` before the first answer.
    var time: FleetTime? { get }

    /// One linearizable read of the session's keys.
    ///
    /// - Parameters:
    ///   - session: whose.
    ///   - epoch: the highest epoch of the fleet's keys that this host has seen a value of the session under; values under
    ///     older ones are refused.
    /// - Returns: what is there.
    /// - Throws: ``FleetStoreError``; ``FleetStoreError/Kind/unreadable`` if a key is there that does not open.
    func look(at session: SessionName, since epoch: UInt32) async throws(FleetStoreError) -> FleetReadResult

    /// Grants the lease that the next lock ends with.
    func grantLease(_ lifetime: Duration) async throws(FleetStoreError) -> FleetLease

    /// Writes a transaction down, sealed, with the exact bytes that its conditions compare.
    ///
    /// - Parameters:
    ///   - transaction: what the member decided.
    ///   - session: whose keys.
    ///   - binding: of which client and server the tokens are.
    ///   - sight: the look it was decided on.
    ///   - contents: the tokens of the attempts that are written.
    ///   - lease: what a lock ends with.
    /// - Returns: the transaction, to be carried out.
    /// - Throws: ``FleetStoreError/Kind/unknownValue`` if a condition names a value that was not read: it cannot hold.
    func seal(
        _ transaction: FleetTransaction,
        of session: SessionName,
        as binding: FleetBinding,
        seen sight: FleetReadResult,
        contents: [AttemptID: SessionSnapshot],
        lease: FleetLease?
    ) throws(FleetStoreError) -> SealedFleetTransaction

    /// Carries a transaction out if its conditions hold.
    ///
    /// - Throws: ``FleetStoreError``; after ``FleetStoreError/Kind/unanswered`` only a look tells what has become of it.
    func transact(_ transaction: SealedFleetTransaction) async throws(FleetStoreError) -> FleetOutcome

    /// The tokens of the record or the late answer of `attempt` in `sight`, in sealed memory; `nil`: it has none.
    ///
    /// - Throws: ``FleetStoreError/Kind/unreadable``, or ``FleetStoreError/Kind/foreign`` if they are of another client or
    ///   server than `binding` names.
    func open(
        _ attempt: AttemptID,
        in sight: FleetReadResult,
        as binding: FleetBinding
    ) throws(FleetStoreError) -> SessionSnapshot?

    /// Seals tokens of `attempt` for this host's own record (``FleetKeeping/others``).
    func keep(
        _ snapshot: SessionSnapshot,
        of attempt: AttemptID,
        _ session: SessionName,
        as binding: FleetBinding
    ) throws(FleetStoreError) -> [UInt8]

    /// What ``keep(_:of:_:as:)`` has sealed, in sealed memory.
    func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName
    ) throws(FleetStoreError)
        -> SessionSnapshot

    /// 64 bits of a keyed hash, by which keepers recognize a refresh token.
    func mark(of refreshToken: SecretID) throws(FleetStoreError) -> UInt64

    /// A reader's wish for another token than that of `generation`; it lasts 60 seconds.
    func want(_ lineage: Lineage, generation: UInt64, of session: SessionName) async throws(FleetStoreError)

    /// Tells what happens to `sessions` from now on, until the task is cancelled.
    func follow(_ sessions: Set<SessionName>, _ take: @escaping @Sendable (FleetEvent) async -> Void) async

    /// Everything that etcd has of `sessions` and of the hosts, and how its members are.
    func survey(_ sessions: Set<SessionName>) async -> FleetSurvey

    /// Tells the others what this host is.
    func announce(_ host: HostDescription) async throws(FleetStoreError)

    /// Takes away what a host said of itself.
    func withdraw(host: UInt64) async throws(FleetStoreError)

    /// Deletes what does not open of the session, so that a host that has a record puts its own there; with `binding` also
    /// what is of another client or server than that names.
    ///
    /// - Returns: how many values were deleted.
    func discardUnreadable(
        of session: SessionName,
        since epoch: UInt32,
        unless binding: FleetBinding?
    ) async throws(FleetStoreError) -> Int

    /// Closes all connections; nothing is called afterwards.
    func close() async
}

/// What a watch tells of the fleet's sessions.
package enum FleetEvent: Equatable, Sendable {
    /// All keys of a session, of which some are others now.
    case shown(FleetReadResult)
    /// Some of the session's keys are others now, and have to be read.
    case changed(SessionName)
    /// The watch stands; what happened before is told of next.
    case connected
    /// The watch was begun anew after a silence, and nothing was missed.
    case resumed
    /// The watch has been lost; it is tried again by itself.
    case trouble(FleetStoreError)
}
