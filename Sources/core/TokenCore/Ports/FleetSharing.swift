// SPDX-License-Identifier: MIT

/// The store that the hosts of a fleet share, as the port between ``FleetMember`` and etcd.
///
/// A host's tokens are durable in its own store before any of these calls. Each call may fail at any time,
/// and the next read shows its effect.
package protocol FleetSharing: Sendable {
    /// The role of this host, which decides whether it holds refresh tokens.
    var role: FleetRole { get }

    /// The newest epoch of the fleet's keys that this host has.
    var epoch: UInt32 { get }

    /// The current time of etcd as far as this host knows it, or `nil` before the first response.
    var time: FleetTime? { get }

    /// Reads the session's keys, linearizably.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - epoch: the highest epoch of the fleet's keys under which this host has seen a value of the
    ///     session. Values under older ones are rejected.
    /// - Returns: the values found.
    /// - Throws: ``FleetStoreError``, with ``FleetStoreError/Kind/unreadable`` if a value cannot be opened.
    func look(at session: SessionName, since epoch: UInt32) async throws(FleetStoreError) -> FleetReadResult

    /// Grants the lease that the next lock ends with.
    func grantLease(_ lifetime: Duration) async throws(FleetStoreError) -> FleetLease

    /// Encodes a transaction, sealed, with the exact bytes that its conditions compare.
    ///
    /// - Parameters:
    ///   - transaction: the decided transaction.
    ///   - session: the session whose keys are written.
    ///   - binding: the client and server of the tokens.
    ///   - readResult: the read result that it was decided on.
    ///   - contents: the tokens of the attempts that are written.
    ///   - lease: the lease that a lock ends with.
    /// - Returns: the transaction to send.
    /// - Throws: ``FleetStoreError/Kind/unknownValue`` if a condition names a value that was not read, so
    ///   that it cannot hold.
    func seal(
        _ transaction: FleetTransaction,
        of session: SessionName,
        as binding: FleetLoginSettings,
        seen readResult: FleetReadResult,
        contents: [AttemptID: SessionSnapshot],
        lease: FleetLease?
    ) throws(FleetStoreError) -> SealedFleetTransaction

    /// Sends a transaction, which etcd carries out if its conditions hold.
    ///
    /// - Throws: ``FleetStoreError``. After ``FleetStoreError/Kind/unanswered`` only a read tells whether it
    ///   was carried out.
    func transact(
        _ transaction: SealedFleetTransaction
    ) async throws(FleetStoreError) -> FleetTransactionResult

    /// Opens the tokens of the record or the late response of `attempt` in `readResult`, into sealed memory.
    ///
    /// - Returns: the tokens, or `nil` if `readResult` has none of the attempt.
    /// - Throws: ``FleetStoreError/Kind/unreadable``, or ``FleetStoreError/Kind/foreign`` if they are of
    ///   another client or server than `binding` names.
    func open(
        _ attempt: AttemptID,
        in readResult: FleetReadResult,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> SessionSnapshot?

    /// Seals tokens of `attempt` for this host's own record (``SessionFleetState/others``).
    func keep(
        _ snapshot: SessionSnapshot,
        of attempt: AttemptID,
        _ session: SessionName,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> [UInt8]

    /// Opens the result of ``keep(_:of:_:as:)``, into sealed memory.
    func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName
    ) throws(FleetStoreError)
        -> SessionSnapshot

    /// Returns 64 bits of a keyed hash, by which keepers recognize a refresh token.
    func mark(of refreshToken: SecretID) throws(FleetStoreError) -> UInt64

    /// Publishes a reader's request for another token than that of `generation`. It is valid for 60 seconds.
    func want(_ lineage: Lineage, generation: UInt64, of session: SessionName) async throws(FleetStoreError)

    /// Reports changes of `sessions` from now on, until the task is cancelled.
    func follow(_ sessions: Set<SessionName>, _ take: @escaping @Sendable (FleetEvent) async -> Void) async

    /// Returns everything that etcd has of `sessions` and of the hosts, and the health of its members.
    func survey(_ sessions: Set<SessionName>) async -> FleetSurvey

    /// Publishes the description of this host.
    func announce(_ host: HostDescription) async throws(FleetStoreError)

    /// Removes the description of a host.
    func withdraw(host: UInt64) async throws(FleetStoreError)

    /// Deletes values of the session that cannot be opened, so that a host with a record can publish its own.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - epoch: the epoch of ``look(at:since:)``.
    ///   - binding: the client and server of this host's settings. If there is one, values of others are
    ///     deleted too.
    /// - Returns: the number of deleted values.
    /// - Throws: ``FleetStoreError``.
    func discardUnreadable(
        of session: SessionName,
        since epoch: UInt32,
        unless binding: FleetLoginSettings?
    ) async throws(FleetStoreError) -> Int

    /// Closes all connections. Nothing is called afterwards.
    func close() async
}

/// An event of a watch on the fleet's sessions.
package enum FleetEvent: Equatable, Sendable {
    /// All keys of a session, some of which have changed.
    case shown(FleetReadResult)
    /// Some of the session's keys have changed and have to be read.
    case changed(SessionName)
    /// The watch is established. Earlier changes are reported next.
    case connected
    /// The watch was restarted after a silence, and nothing was missed.
    case resumed
    /// The watch was lost. It is retried automatically.
    case storeError(FleetStoreError)
}
