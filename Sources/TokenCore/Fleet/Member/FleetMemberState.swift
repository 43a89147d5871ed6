// SPDX-License-Identifier: MIT

/// What a ``FleetMember`` has under way.
enum FleetMemberState: Equatable, Sendable {
    /// The process was stopped when it may have sent something: before anything else the session looks for the answer,
    /// which may lie here. Next: `recovering` with the session's wish to refresh; `keeping` with news.
    case interrupted
    /// The session looks for that answer. Next: as of `exchanging`; `interrupted` if it could not look.
    case recovering
    /// Nothing. Next: `looking` when the session, the watch or the clock asks for it; `keeping` with news.
    case idle
    /// etcd is being read. Next: any other, by what it shows.
    case looking(knowing: FleetRevision?, since: Instant)
    /// A lease for a lock is asked for. Next: `transacting`; `idle` without one.
    case leasing(FleetDecision, viewedSince: Instant, since: Instant)
    /// A transaction is out. Next: `looking` after most; `exchanging` with a reservation; `keeping` with a record.
    case transacting(FleetWrite)
    /// The session has the right to send, and no answer has come. Next: `keeping` with tokens, `transacting`
    /// without.
    case exchanging
    /// Something is being made durable here. Next: `transacting` with an answer, else `looking`.
    /// `shown`: what the watch showed, if it was decided on that.
    case keeping(FleetPersistentState, telling: [FleetAction], shown: FleetSnapshot?)

    /// It ends with an answer of etcd or of this host's disk, and no server is waited for.
    var isBrief: Bool {
        switch self {
        case .looking, .leasing, .transacting, .keeping: true
        case .interrupted, .recovering, .idle, .exchanging: false
        }
    }
}
