// SPDX-License-Identifier: MIT

/// The current step of a ``FleetMember``.
enum FleetMemberPhase: Equatable, Sendable {
    /// The process was stopped when it may have sent a request. First the session looks for a stored
    /// response.
    ///
    /// Next: `recovering` with the session's request to refresh; `keeping` with a login or logout.
    case interrupted
    /// The session looks on this host for the response to a request of an earlier process. Next: the same as
    /// for `exchanging`; `interrupted` if it could not look.
    case recovering
    /// No step is in progress.
    ///
    /// Next: `looking` when the session, the watch or the clock requires it; `keeping` with a login or
    /// logout.
    case idle
    /// etcd is being read. Next: any other, depending on the result.
    case looking(knowing: FleetRevision?, since: Instant)
    /// A lease for a lock is requested. Next: `transacting`; `idle` without a lease.
    case leasing(FleetDecision, viewedSince: Instant, since: Instant)
    /// A transaction is in flight.
    ///
    /// Next: `looking` after most; `exchanging` with a reservation; `keeping` with a record.
    case transacting(FleetWrite)
    /// The session may send, and no response has arrived. Next: `keeping` with tokens, `transacting` without.
    case exchanging
    /// A state is being written to this host's disk. Next: `transacting` with a response, else `looking`.
    ///
    /// `shown` is the snapshot of the watch, if the decision was made on one.
    case keeping(FleetPersistentState, telling: [FleetAction], shown: FleetSnapshot?)

    /// Whether the step ends with a response of etcd or of this host's disk, without waiting for a server.
    var isBrief: Bool {
        switch self {
        case .looking, .leasing, .transacting, .keeping: true
        case .interrupted, .recovering, .idle, .exchanging: false
        }
    }
}
