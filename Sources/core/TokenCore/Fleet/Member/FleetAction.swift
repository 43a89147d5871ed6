// SPDX-License-Identifier: MIT

/// An action that a ``FleetMember`` has decided on.
///
/// Actions are executed in order.
package enum FleetAction: Equatable, Sendable {
    /// Read the session's keys, linearizably. `looked` or `callFailed` follows.
    case look
    /// Request a lease from etcd. `leaseGranted` or `callFailed` follows.
    case grantLease(Duration)
    /// Execute a transaction. `transacted`, `callFailed` or `transactionUnanswered` follows.
    case transact(FleetTransaction)
    /// Make the state durable, with the tokens of the attempts that it names. `kept` follows.
    case keep(FleetPersistentState)
    /// Tell the session that it may send the refresh token of this record before `until`. `answered` follows.
    ///
    /// The sending process must have a timer that ends the request then.
    case grant(AttemptID, FleetHeader, until: Instant)
    /// Tell the session that a response to this attempt, which an earlier process made, may be stored on this
    /// host.
    ///
    /// The session may take that response and must send nothing. `answered` follows.
    case recover(AttemptID)
    /// Tell the session that another host is refreshing. A `grant`, `recover`, `postpone`, `refuse` or
    /// `adopt` follows.
    case hold(AttemptID)
    /// Tell the session not to refresh before this moment.
    case postpone(AttemptID, until: Instant)
    /// Tell the session that etcd is unreachable, or that this host was too slow. Nothing was sent.
    case refuse(AttemptID, StorageFailure)
    /// Tell the session that this record is the current one. The record is already durable on this host.
    case adopt(FleetHeader)
    /// Ask the keepers for a newer token than the one of this generation. Only a reader does so, and no reply
    /// follows.
    case ask(generation: UInt64)
    /// Tell the session of a keeper that a reader requests a newer token than the current record's.
    case asked
    /// Revoke the tokens of this attempt at the server.
    case revoke(AttemptID)
    /// Report the result of publishing this record to the part of the agent that requested it.
    ///
    /// The record is a login, a logout or an ended login. The result is about this record, and no later one.
    case finishNews(FleetHeader, FleetPublishResult)

    /// Whether the action gives the session another record, which ends its request to refresh the previous
    /// one.
    var isAdoption: Bool {
        if case .adopt = self { true } else { false }
    }
}

/// The result of a login, a logout or the end of a login at this host.
package enum FleetPublishResult: Equatable, Sendable {
    /// The record is in etcd, where all hosts of the fleet find it.
    case done(FleetHeader)
    /// Another login was published first, or the login whose end was to be published has been refreshed
    /// meanwhile.
    case superseded(by: FleetHeader)
}
