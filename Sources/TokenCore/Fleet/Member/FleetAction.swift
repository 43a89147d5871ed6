// SPDX-License-Identifier: MIT

/// One thing to do, decided by a ``FleetMember``; a list of them is run in order.
package enum FleetAction: Equatable, Sendable {
    /// Read the session's keys, linearizable; answered by `looked` or `callFailed`.
    case look
    /// Ask etcd for a lease; answered by `leaseGranted` or `callFailed`.
    case grantLease(Duration)
    /// Answered by `transacted`, `callFailed` or `transactionUnanswered`.
    case transact(FleetTransaction)
    /// Make it durable, with the tokens of the attempts it names; answered by `kept`.
    case keep(FleetPersistentState)
    /// Tell the session: the refresh token of this record may be sent before `until`, by a process whose alarm ends
    /// it then; answered by `answered`.
    case grant(AttemptID, FleetHeader, until: Instant)
    /// Tell the session: the answer to this attempt of an earlier process may lie here; it may be taken, and nothing is
    /// sent. Answered by `answered`.
    case recover(AttemptID)
    /// Tell the session: another host is at it, and another answer follows.
    case hold(AttemptID)
    /// Tell the session: not before this moment.
    case postpone(AttemptID, until: Instant)
    /// Tell the session: etcd is away, or this host was too slow; nothing was sent.
    case refuse(AttemptID, StorageFailure)
    /// Tell the session: this record, which is kept, is the session's now.
    case adopt(FleetHeader)
    /// Tell the keepers in etcd that this generation is no longer good; nobody answers.
    case ask(generation: UInt64)
    /// Tell the session: a reader wants another token than that of the present record.
    case asked
    /// Have the server end the tokens of this attempt.
    case revoke(AttemptID)
    /// Tell who logged in or out, or a session that ended by itself, what became of that: of this record, and no later one.
    case finishNews(FleetHeader, FleetNewsResult)

    /// It gives the session another record, which answers what it wanted of the former one.
    var isAdoption: Bool {
        if case .adopt = self { true } else { false }
    }
}

/// What became of a login, a logout or the end of a login at this host.
package enum FleetNewsResult: Equatable, Sendable {
    /// The whole fleet has it.
    case done(FleetHeader)
    /// Somebody else's login came first, or, before the end of a login, another record of it.
    case superseded(by: FleetHeader)
}

/// What a host may do with the session's refresh tokens, spelled as in the configuration and in key files.
package enum FleetRole: String, CaseIterable, Sendable {
    /// Holds and uses them.
    case keeper
    /// Opens access tokens only, and asks the keepers for new ones.
    case reader
}
