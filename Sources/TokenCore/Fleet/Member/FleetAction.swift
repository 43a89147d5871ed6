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
    /// Tell the session that the response to this attempt of an earlier process may be stored here.
    ///
    /// The session may take that response and must send nothing. `answered` follows.
    case recover(AttemptID)
    /// Tell the session that another host is refreshing. Another result follows.
    case hold(AttemptID)
    /// Tell the session not to refresh before this moment.
    case postpone(AttemptID, until: Instant)
    /// Tell the session that etcd is unreachable, or that this host was too slow. Nothing was sent.
    case refuse(AttemptID, StorageFailure)
    /// Tell the session that this record, which is durable here, is its current one.
    case adopt(FleetHeader)
    /// Publish a reader's request for another token than that of this generation. No reply follows.
    case ask(generation: UInt64)
    /// Tell the session that a reader requests another token than that of the current record.
    case asked
    /// Revoke the tokens of this attempt at the server.
    case revoke(AttemptID)
    /// Report the result of publishing this record to the requester: a login, a logout or an ended session.
    ///
    /// The result is about this record, and no later one.
    case finishNews(FleetHeader, FleetNewsResult)

    /// Whether the action gives the session another record, which ends its request to refresh the previous
    /// one.
    var isAdoption: Bool {
        if case .adopt = self { true } else { false }
    }
}

/// The result of a login, a logout or the end of a login at this host.
package enum FleetNewsResult: Equatable, Sendable {
    /// The whole fleet has the record.
    case done(FleetHeader)
    /// Another login was published first, or another record of a login before its end.
    case superseded(by: FleetHeader)
}

/// The permission of a host to use the session's refresh tokens, spelled as in the configuration and in key
/// files.
package enum FleetRole: String, CaseIterable, Sendable {
    /// The host holds and uses refresh tokens.
    case keeper
    /// The host opens access tokens only, and requests new ones from the keepers.
    case reader
}
