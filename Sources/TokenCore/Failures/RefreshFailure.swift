// SPDX-License-Identifier: MIT

/// Why a request to an authorization server brought no token.
package struct RefreshFailure: Error, Equatable, Sendable {
    package var kind: FailureClass
    /// The error code as on the wire (`invalid_grant`, `ErrRefreshTokenExpired`), when there was one.
    package var code: String?
    /// The status of the HTTP answer, where that says whether the server has acted (429, 503).
    package var status: Int?
    /// One sentence for a person: printable, at most 500 characters, no secrets.
    package var message: String
    /// What the server asked for, already clamped to 1 s … 1 h (RFC 9110 §10.2.3).
    package var retryAfter: Duration?
    /// Our own least pause before the next automatic try, where an early one has no prospect; a person who asks
    /// for a refresh need not wait for it.
    package var leastPause: Duration?
    /// What to change or do, where that is known: completes "to do: …".
    package var remedy: String?
    /// The login does not fit its server any more: only another one helps.
    package var needsLogin: Bool

    package init(
        kind: FailureClass,
        code: String? = nil,
        status: Int? = nil,
        message: String,
        retryAfter: Duration? = nil,
        leastPause: Duration? = nil,
        remedy: String? = nil,
        needsLogin: Bool = false
    ) {
        self.kind = kind
        self.code = code
        self.status = status
        self.message = message
        self.retryAfter = retryAfter
        self.leastPause = leastPause
        self.remedy = remedy
        self.needsLogin = needsLogin
    }

    /// Why nothing was sent: the store that the hosts of a fleet share cannot be used.
    package init(_ trouble: FleetStoreError) {
        let message = trouble.isMistake ? trouble.sentence : trouble.advice
        self.init(
            kind: trouble.isMistake ? .fleetMisconfigured : .unreachable,
            message: message,
            remedy: trouble.isMistake ? trouble.remedy : nil
        )
    }

    /// A program of the configuration did not work, or says that a password or PIN is wrong.
    ///
    /// - Parameters:
    ///   - failure: names the program.
    ///   - key: the key of the configuration that names it.
    package init(_ failure: CommandFailure, of key: String) {
        self.init(
            kind: failure.rejectsCredential ? .credentialRejected : .helperFailed,
            message: "\(key): \(failure.message)",
            remedy: failure.rejectsCredential ? "correct the password or PIN" : nil
        )
    }

    /// The message for callers; what helps with a program or file goes with it, as nothing else tells them.
    var toldMessage: String {
        guard kind == .helperFailed, let remedy else { return message }
        return "\(message) (\(remedy))"
    }

    /// What a person does about `session`, which it has suspended.
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
