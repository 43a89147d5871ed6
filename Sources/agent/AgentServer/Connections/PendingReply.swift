// SPDX-License-Identifier: MIT

import TokenCore

/// The pending reply of a connection, by which the agent finds the request when the peer leaves.
enum PendingReply: Equatable {
    case token(SessionName, WaiterID)
    case login(LoginNumber)
    case logout(SessionName)
    case events
    case confirmation(ConfirmationKey)
    /// Another token is being obtained for the request's socket or program.
    case turn
    /// The session's record was not read from etcd yet.
    case fleet
}
