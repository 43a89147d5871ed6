// SPDX-License-Identifier: MIT

import TokenCore

/// A refresh attempt of a shared session, from the session's request on.
struct SharedAttempt {
    /// The attempt's ID in the fleet.
    ///
    /// If this host searches for the response of an interrupted attempt, it is the ID of that attempt.
    var id: AttemptID
    let number: AttemptNumber
    /// The deadlines for the request, or `nil` while it may not be sent yet.
    var fence: RefreshRequestDeadlines?
    /// The server's rejection of the refresh token, if that was the response.
    var refusal: RefreshFailure?
    /// Whether the session has tokens from the response and is writing them to its record.
    var hasTokens = false
}
