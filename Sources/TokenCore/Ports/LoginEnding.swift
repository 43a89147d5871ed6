// SPDX-License-Identifier: MIT

/// How a login ended, for the page in the browser that it was made with.
package struct LoginEnding: Equatable, Sendable {
    /// Why a login failed, and what to do.
    package struct Failure: Equatable, Sendable {
        package var message: String
        package var remedy: String?

        package init(message: String, remedy: String? = nil) {
            self.message = message
            self.remedy = remedy
        }
    }

    package var session: String
    /// The account as the server calls it; `nil` if it does not say.
    package var account: String?
    /// Where the login was made, for people.
    package var server: String
    /// `nil` if the session is logged in.
    package var failure: Failure?

    package init(session: String, account: String? = nil, server: String, failure: Failure? = nil) {
        self.session = session
        self.account = account
        self.server = server
        self.failure = failure
    }
}
