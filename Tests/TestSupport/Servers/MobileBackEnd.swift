// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// A double of a mobile app's back end, with JSON endpoints instead of OAuth: rotating refresh tokens, error
/// codes in bodies.
///
/// Its routes are added to a ``DemoIssuer``, which provides TLS, the request log and failures.
package final class MobileBackEnd: Sendable {
    /// The protocol of the double.
    package enum Style: String, Sendable {
        case signaling
        case ecall
    }

    package struct Settings: Sendable {
        package var accessLifetime: Duration = .seconds(15 * 60)
        package var refreshLifetime: Duration = .seconds(30 * 86_400)
        /// Whether refresh responses contain `refreshExpiresIn`.
        ///
        /// Login responses always do.
        package var tellsRefreshExpiry = true
        /// The names that lead to the object with a response's members, or empty for the response itself.
        package var envelope: [String] = []
        /// The names that lead to an error code, outside of any envelope, or empty for the style's default.
        package var errorPlace: [String] = []
        /// The members required in every request of the app.
        ///
        /// Without them the error is `unknown_app`.
        package var members = JSONObject()
        package var headers: [String: String] = [:]

        package init() {}
    }

    package let style: Style
    private let state: Mutex<MobileBackEndState>

    package init(_ style: Style, settings: Settings = Settings()) {
        self.style = style
        state = Mutex(MobileBackEndState(style: style, settings: settings))
    }

    package var loginPath: String { style == .signaling ? "/auth/login" : "/app/api/login" }
    /// The path of the endpoint that sends a code for a login without a password.
    package var codePath: String { style == .signaling ? "/auth/code" : "/app/api/code" }
    package var refreshPath: String { style == .signaling ? "/auth/refresh" : "/app/api/refresh-token" }
    package var logoutPath: String { style == .signaling ? "/auth/logout" : "/app/api/logout" }
    /// The path of a resource that requires a valid access token.
    package var resourcePath: String { style == .signaling ? "/api/me" : "/app/api/me" }

    /// The routes to add to an issuer.
    package var routes: [Route] {
        [
            Route("POST", codePath) { request in self.answer(request) { $0.sendCode(request) } },
            Route("POST", loginPath) { request in self.answer(request) { $0.logIn(request) } },
            Route("POST", refreshPath) { request in self.answer(request) { $0.refresh(request) } },
            Route("POST", logoutPath) { request in self.answer(request) { $0.logOut(request) } },
            Route("GET", resourcePath) { request in self.state.withLock { $0.resource(request) } },
        ]
    }

    private func answer(
        _ request: IssuerRequest,
        _ serve: (inout MobileBackEndState) -> IssuerResponse
    ) -> IssuerResponse {
        state.withLock { state in
            guard state.isFromApp(request) else { return state.refuse("unknown_app") }
            return serve(&state)
        }
    }

    /// The codes sent to users, the latest last.
    package var sentCodes: [String] { state.withLock { $0.sentCodes.map(\.code) } }

    package var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// Advances the back end's clock only.
    package func advance(by duration: Duration) {
        state.withLock { $0.elapsed += duration }
    }

    /// Rejects everything of every login from now on, with `code` and optionally `requiresReauth`.
    package func endLogins(code: String, requiresReauth: Bool = false) {
        state.withLock { $0.endLogins(.init(code: code, requiresReauth: requiresReauth)) }
    }

    /// Returns whether a refresh with `token` would succeed now.
    package func isAlive(_ token: String) -> Bool {
        state.withLock { $0.isAlive(token) }
    }

    /// The number of successful refreshes.
    package var refreshes: Int { state.withLock { $0.refreshes } }

    /// Returns a refresh token, as from a login on another device.
    package func grantRefreshToken(user: String = "alice") -> String {
        state.withLock { $0.newTokens(for: $0.newLogin(user: user)).refresh }
    }
}
