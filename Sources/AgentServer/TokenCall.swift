// SPDX-License-Identifier: MIT

import TokenCore

/// A request for a token that is being answered.
struct TokenCall {
    enum Format: Equatable {
        case json
        /// The bare token and a line feed.
        case text
        /// The answer to a reported refusal: what to do, with the token to do it with.
        case retry
    }

    var connection: Connection
    var session: SessionName
    var wantsIDToken = false
    var format = Format.json
}

/// What a connection waits for, so that the agent finds it when the peer leaves.
enum AwaitedAnswer: Equatable {
    case token(SessionName, WaiterID)
    case login(LoginNumber)
    case logout(SessionName)
    case events
    case confirmation(ConfirmationKey)
}
