// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

extension RequestFailure {
    /// Creates the failure of a session that provides no token, as the peer receives it.
    init(_ failure: ServingFailure, of session: SessionName) {
        switch failure {
        case .loginRequired(_, let message, let remedy):
            self.init(
                code: .loginRequired,
                message: Self.sentence(message),
                session: session,
                remedy: remedy ?? "tokenctl login \(session)"
            )
        case .tokenRefused(let message, let retryAfter):
            self.init(
                code: .temporarilyUnavailable,
                message: Self.sentence(message),
                session: session,
                retryAfter: retryAfter
            )
        case .temporarilyUnavailable(let message, let retryAfter):
            self.init(
                code: .temporarilyUnavailable,
                message: Self.sentence(message),
                session: session,
                retryAfter: retryAfter
            )
        case .misconfigured(let message, let remedy):
            self.init(
                code: .misconfigured,
                message: Self.sentence(message),
                session: session,
                remedy: remedy
            )
        case .notRefreshable(let message, let remedy):
            self.init(
                code: .badRequest,
                message: Self.sentence(message),
                session: session,
                remedy: remedy ?? "tokenctl login \(session)"
            )
        case .validityUnattainable(let lifetime):
            self.init(
                code: .badRequest,
                message: "The issuer's tokens live \(lifetime.wholeSeconds) s in all, less than asked for.",
                session: session
            )
        case .noIDToken:
            self.init(code: .misconfigured, message: "The issuer gave no ID token.", session: session)
        case .idTokenNotRenewed(let remedy):
            self.init(
                code: .loginRequired,
                message:
                    "The ID token ends too soon, and the issuer gave no other one with the last refresh.",
                session: session,
                remedy: remedy ?? "tokenctl login \(session)"
            )
        }
    }

    /// Creates the failure with details from the session's settings: why there is no ID token, and what may
    /// change that.
    init(_ failure: ServingFailure, of session: SessionName, _ settings: SessionSettings?) {
        self.init(failure, of: session)
        guard case .noIDToken = failure, let settings else { return }
        switch settings.kind {
        case "json", "aws_sso": message = "Sessions of kind \(settings.kind) have no ID token."
        case "cognito": break
        case _ where settings.scopes.contains("openid"):
            message = "The issuer gave no ID token that could be taken over, although openid is asked for."
            remedy = "tokenctl status \(session) says what was wrong with one that came"
        default: remedy = "add openid to the session's scopes, then tokenctl login \(session)"
        }
    }

    /// Creates the failure of a login, as the user receives it.
    init(_ failure: RefreshFailure, of session: SessionName) {
        var remedy = failure.remedy
        let code: FailureCode
        switch failure.kind.consequences.loginRemedy {
        case .tryLater: code = .temporarilyUnavailable
        case .correctSettings:
            code = .misconfigured
            if failure.kind.consequences.blamesClient {
                let correction = remedy ?? "fix the configuration"
                // In addition to the change, the login that just failed is needed.
                remedy =
                    remedy == nil || failure.needsLogin
                    ? "\(correction), then tokenctl login \(session)" : remedy
            }
        // The user, or the server on the user's behalf, has declined.
        case .logInAgain where failure.kind == .interactionRequired && failure.code == "access_denied":
            code = .denied
        case .logInAgain:
            code = .loginRequired
            let again = "tokenctl login \(session)"
            remedy = remedy.map { "\($0), then \(again)" } ?? again
        }
        self.init(
            code: code,
            message: Self.sentence(failure.message),
            session: session,
            remedy: remedy,
            retryAfter: failure.retryAfter
        )
    }

    /// Creates the failure of a request to the store.
    init(_ refusal: StoreAccessError) {
        switch refusal {
        case .wrongKey:
            self.init(
                code: .denied,
                message: "That does not open the store.",
                remedy: "forgotten: see unlock in tokenctl(1)"
            )
        case .passphraseNeeded:
            self.init(code: .locked, message: "A passphrase is needed.", remedy: "tokenctl unlock")
        case .busy(let retryAfter):
            self.init(
                code: .temporarilyUnavailable,
                message: "Too many guesses wait for their turn.",
                retryAfter: retryAfter
            )
        case .notPossible(let message): self.init(code: .badRequest, message: Self.sentence(message))
        case .failed(let message): self.init(code: .internal, message: Self.sentence(message))
        }
    }

    /// Returns `text` with a capital and a full stop.
    ///
    /// A first word that is an address or identifier is unchanged.
    static func sentence(_ text: String) -> String {
        guard let first = text.utf8.first, let last = text.utf8.last else { return "No reason was given." }
        let end = ".!?".utf8.contains(last) ? "" : "."
        let word = text.utf8.prefix { $0 != UInt8(ascii: " ") }
        let isWord = !word.contains { ":/._=0123456789".utf8.contains($0) }
        guard isWord, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return text + end }
        return String(decoding: [first & ~0x20] + text.utf8.dropFirst(), as: UTF8.self) + end
    }
}
