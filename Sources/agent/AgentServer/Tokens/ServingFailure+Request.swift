// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension RequestFailure {
    /// Creates the failure of a session that provides no token, as the peer receives it.
    init(_ failure: ServingFailure, of session: SessionName) {
        switch failure {
        case .loginRequired(_, let message, let remedy):
            self.init(
                code: .loginRequired,
                message: Self.clause(message),
                session: session,
                remedy: remedy ?? .run("tokenctl login \(session)")
            )
        case .tokenRefused(let message, let retryAfter):
            self.init(
                code: .temporarilyUnavailable,
                message: Self.clause(message),
                session: session,
                retryAfter: retryAfter
            )
        case .temporarilyUnavailable(let message, let retryAfter, let remedy):
            self.init(
                code: .temporarilyUnavailable,
                message: Self.clause(message),
                session: session,
                remedy: remedy,
                retryAfter: retryAfter
            )
        case .misconfigured(let message, let remedy):
            self.init(
                code: .misconfigured,
                message: Self.clause(message),
                session: session,
                remedy: remedy
            )
        case .notRefreshable(let message, let remedy):
            self.init(
                code: .badRequest,
                message: Self.clause(message),
                session: session,
                remedy: remedy ?? .run("tokenctl login \(session)")
            )
        case .validityUnattainable(let lifetime):
            self.init(
                code: .badRequest,
                message:
                    "cannot satisfy min_valid: the issuer's tokens last only "
                    + DurationPhrase.short(lifetime.wholeSeconds),
                session: session,
                remedy: .set(
                    "--min-valid (min_valid) to less than \(DurationPhrase.short(lifetime.wholeSeconds))"
                )
            )
        case .noIDToken:
            self.init(code: .misconfigured, message: "the issuer returned no ID token", session: session)
        case .idTokenNotRenewed(let remedy):
            self.init(
                code: .loginRequired,
                message: "ID token expires too soon and the last refresh returned no new one",
                session: session,
                remedy: remedy ?? .run("tokenctl login \(session)")
            )
        }
    }

    /// Creates the failure with details from the session's settings: why there is no ID token, and what may
    /// change that.
    init(_ failure: ServingFailure, of session: SessionName, _ settings: SessionSettings?) {
        self.init(failure, of: session)
        guard case .noIDToken = failure, let settings else { return }
        switch settings.kind {
        case "json", "aws_sso": message = "sessions of kind \(settings.kind) have no ID token"
        case "cognito": break
        case _ where settings.scopes.contains("openid"):
            message = "the issuer's ID token was rejected"
            remedy = .run("tokenctl status \(session)")
        default:
            remedy = .set("openid in scopes of [session.\(session)], then run tokenctl login \(session)")
        }
    }

    /// Creates the failure of a login, as the user receives it.
    init(_ failure: RefreshFailure, of session: SessionName) {
        var remedy = failure.remedy
        let login = "tokenctl login \(session)"
        let code: FailureCode
        switch failure.kind.consequences.loginRemedy {
        case .tryLater:
            code = .temporarilyUnavailable
            // Without a time of the server's own: unlike a refresh, a login is not tried again by itself.
            if failure.retryAfter == nil { remedy = remedy ?? .run(login) }
        case .correctSettings:
            code = .misconfigured
            if failure.kind == .variantRefused {
                let keys = failure.code == "invalid_target" ? "resources and audience" : "scopes"
                let correction = Remedy.set(
                    "\(keys) of [session.\(session)] to those that the server grants, then run \(login)"
                )
                remedy = remedy ?? correction
            } else if failure.kind.consequences.blamesClient {
                // In addition to the change, the login that just failed is needed.
                let correction: Remedy =
                    failure.kind == .clientRejected
                    ? .set(
                        "client_id and client secret of [session.\(session)] as registered, then run \(login)"
                    )
                    : .set("[session.\(session)] as its server requires, then run \(login)")
                remedy = failure.needsLogin ? remedy?.followed(by: login) ?? correction : remedy ?? correction
            }
        // The user, or the server on the user's behalf, has declined.
        case .logInAgain where failure.kind == .interactionRequired && failure.code == "access_denied":
            code = .denied
            remedy = remedy ?? .run(login)
        case .logInAgain:
            code = .loginRequired
            remedy = remedy?.followed(by: login) ?? .run(login)
        }
        self.init(
            code: code,
            message: Self.clause(failure.message),
            session: session,
            remedy: remedy,
            retryAfter: failure.retryAfter
        )
    }

    /// Creates the failure of a request to the store.
    init(_ refusal: StoreAccessError) {
        switch refusal {
        case .wrongKey(let message, let remedy):
            self.init(code: .denied, message: Self.clause(message), remedy: remedy)
        case .passphraseNeeded:
            self.init(code: .locked, message: "passphrase required", remedy: .run("tokenctl unlock"))
        case .passphraseLeft(let message, let remedy, _):
            self.init(code: .locked, message: Self.clause(message), remedy: remedy)
        case .busy(let retryAfter):
            self.init(
                code: .temporarilyUnavailable,
                message: "too many unlock attempts pending",
                retryAfter: retryAfter
            )
        case .notPossible(let message, let remedy, _):
            self.init(code: .badRequest, message: Self.clause(message), remedy: remedy)
        case .failed(let message, let remedy, _):
            self.init(code: .internal, message: Self.clause(message), remedy: remedy)
        }
    }

    /// Returns `text` without its full stop.
    static func clause(_ text: String) -> String {
        guard !text.isEmpty else { return "no reason was given" }
        let isSentence = text.bytewise.hasSuffix(".") && !text.bytewise.hasSuffix("..")
        return isSentence ? String(Substring(text.utf8.dropLast())) : text
    }
}
