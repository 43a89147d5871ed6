// SPDX-License-Identifier: MIT

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
    /// One sentence for the user: printable, at most 500 characters, without secrets.
    package var message: String
    /// The delay that the server requested, already clamped to 1 s … 1 h (RFC 9110 §10.2.3).
    package var retryAfter: Duration?
    /// The agent's own minimum delay before the next automatic attempt, where an early one would be useless.
    ///
    /// It does not delay a refresh that the user requests.
    package var minimumDelay: Duration?
    /// The advice, if there is any.
    ///
    /// It completes "to do: …".
    package var remedy: String?
    /// Whether the login no longer fits its server, so that only a new login helps.
    package var needsLogin: Bool

    package init(
        kind: FailureClass,
        code: String? = nil,
        status: Int? = nil,
        message: String,
        retryAfter: Duration? = nil,
        minimumDelay: Duration? = nil,
        remedy: String? = nil,
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
    package init(_ trouble: FleetStoreError) {
        let message = trouble.isMistake ? trouble.sentence : trouble.advice
        self.init(
            kind: trouble.isMistake ? .fleetMisconfigured : .unreachable,
            message: message,
            remedy: trouble.isMistake ? trouble.remedy : nil
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
            remedy: failure.rejectsCredential ? "correct the password or PIN" : nil
        )
    }

    /// The message for requesters.
    ///
    /// It includes the remedy for a program or file, which is shown nowhere else.
    var toldMessage: String {
        guard kind == .helperFailed, let remedy else { return message }
        return "\(message) (\(remedy))"
    }

    /// Returns the advice for a `session` that this failure has suspended.
    func correction(of session: SessionName) -> String {
        guard needsLogin else {
            guard kind == .clientRejected else {
                return "\(remedy ?? "fix the configuration"), then tokenctl refresh \(session)"
            }
            let minutes = RetrySchedule.rejectedClientRetry.wholeSeconds / 60
            let wait = "or wait until the server is ready: it is asked every \(minutes) minutes"
            return
                "\(remedy ?? "give the session its present client secret"), then tokenctl refresh \(session); \(wait)"
        }
        return (remedy.map { "\($0), " } ?? "") + "tokenctl login \(session)"
    }
}
