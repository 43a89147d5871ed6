// SPDX-License-Identifier: MIT

import Text

/// The reason a request to an authorization server returned no token.
///
/// - Entry points: ``FailureClass/consequences`` defines the reaction to a failure, `RetryState` the next
///   attempt, and ``EndReason`` the end of a login.
/// - May not: contain secrets, or unprintable text of a server (``ServerText``).
package struct RefreshFailure: Error, Equatable, Sendable {
    package var kind: FailureClass
    /// The error code as on the wire (`invalid_grant`, `ErrRefreshTokenExpired`), if there was one.
    package var code: String?
    /// The status of the HTTP response, where it says whether the server has acted (429, 503).
    package var status: Int?
    /// The failure for the user: printable, at most 500 characters, in lower case, without a full stop and
    /// without secrets.
    package var message: String
    /// The delay that the server requested, already clamped to 1 s … 1 h (RFC 9110 §10.2.3).
    package var retryAfter: Duration?
    /// The agent's own minimum delay before the next automatic attempt, where an early one would be useless.
    ///
    /// It does not delay a refresh that the user requests.
    package var minimumDelay: Duration?
    /// The advice, if there is any.
    package var remedy: Remedy?
    /// Whether the login no longer fits its server, so that only a new login helps.
    package var needsLogin: Bool

    package init(
        kind: FailureClass,
        code: String? = nil,
        status: Int? = nil,
        message: String,
        retryAfter: Duration? = nil,
        minimumDelay: Duration? = nil,
        remedy: Remedy? = nil,
        needsLogin: Bool = false
    ) {
        self.kind = kind
        self.code = code
        self.status = status
        self.message = message
        self.retryAfter = retryAfter
        self.minimumDelay = minimumDelay
        self.remedy = remedy
        self.needsLogin = needsLogin
    }

    /// Creates the failure for a fleet store that cannot be used.
    ///
    /// Nothing was sent.
    package init(_ storeError: FleetStoreError) {
        let message = storeError.isMistake ? storeError.sentence : storeError.advice
        self.init(
            kind: storeError.isMistake ? .fleetMisconfigured : .unreachable,
            message: message,
            remedy: storeError.isMistake ? storeError.remedy : nil
        )
    }

    /// Creates the failure for a configured program that failed or reported a wrong password or PIN.
    ///
    /// - Parameters:
    ///   - failure: the failure, which names the program.
    ///   - key: the configuration key that names the program.
    package init(_ failure: CommandFailure, of key: String) {
        self.init(
            kind: failure.rejectsCredential ? .credentialRejected : .helperFailed,
            message: "\(key): \(failure.message)",
            remedy: failure.rejectsCredential ? .set("the password or PIN that \(key) uses") : nil
        )
    }

    /// The message for requesters.
    ///
    /// It includes the remedy for a program or file, which is shown nowhere else.
    var toldMessage: String {
        guard kind == .helperFailed, let remedy else { return message }
        return "\(message) \(remedy.parenthesized)"
    }

    /// Returns the advice for a `session` that this failure has suspended.
    func correction(of session: SessionName) -> Remedy {
        guard !needsLogin else {
            let login = "tokenctl login \(session)"
            return remedy?.followed(by: login) ?? .run(login)
        }
        let unknown: Remedy =
            kind == .clientRejected
            ? .set("the current client secret in [session.\(session)]")
            : .set("[session.\(session)] as its server requires")
        return (remedy ?? unknown).followed(by: "tokenctl refresh \(session)")
    }
}
