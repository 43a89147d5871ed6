// SPDX-License-Identifier: MIT

import TokenCore

/// An attempt of a shared session to refresh, from the request on.
struct SharedAttempt {
    /// The attempt's ID.
    ///
    /// If the response of an interrupted attempt is searched for, this is that attempt's ID.
    var id: AttemptID
    let number: AttemptNumber
    /// The deadlines for the request, or `nil` while it may not be sent yet.
    var fence: ExchangeDeadlines?
    /// The server's rejection of the refresh token, if that was the response.
    var refusal: RefreshFailure?
    /// Whether the session is making a record of the response's tokens.
    var hasTokens = false

    /// The recipient of an exchange's outcome.
    enum Addressee {
        case session
        /// The fleet, whose record decides the session's state.
        case fleet
        /// Neither: nothing was sent, and the session asks the fleet again.
        case nobody
    }
}
