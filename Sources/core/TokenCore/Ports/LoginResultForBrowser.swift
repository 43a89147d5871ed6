// SPDX-License-Identifier: MIT

import Text

/// The result of a login, for the page in the browser where it was made.
package struct LoginResultForBrowser: Equatable, Sendable {
    /// The reason a login failed, and the advice.
    package struct Failure: Equatable, Sendable {
        package var message: String
        package var remedy: Remedy?

        package init(message: String, remedy: Remedy? = nil) {
            self.message = message
            self.remedy = remedy
        }
    }

    package var session: String
    /// The account as the server names it, or `nil` if it does not.
    package var account: String?
    /// The server of the login, for display.
    package var server: String
    /// The failure, or `nil` if the session is logged in.
    package var failure: Failure?

    package init(session: String, account: String? = nil, server: String, failure: Failure? = nil) {
        self.session = session
        self.account = account
        self.server = server
        self.failure = failure
    }
}
