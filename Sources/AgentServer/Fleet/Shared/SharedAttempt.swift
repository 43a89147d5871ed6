// SPDX-License-Identifier: MIT

import TokenCore

/// An attempt of a shared session, from its wish on.
struct SharedAttempt {
    /// That of an attempt of an earlier process, if its answer is looked for.
    var id: AttemptID
    let number: AttemptNumber
    /// When its request may be under way; `nil`: not yet.
    var fence: ExchangeDeadlines?
    /// The answer of the server refuses the refresh token.
    var refusal: RefreshFailure?
    /// The session is making a record of the answer's tokens.
    var hasTokens = false

    /// Whom the outcome of an exchange is for.
    enum Addressee {
        case session
        /// The fleet's record says what becomes of the session.
        case fleet
        /// Nothing was sent, and the session asks the fleet again.
        case nobody
    }
}
