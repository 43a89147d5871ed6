// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// The back end of a mobile app, with JSON endpoints in place of OAuth: rolling refresh tokens, codes in bodies.
///
/// Its routes are added to a ``DemoIssuer``, which brings TLS, the request log and faults.
package final class MobileBackEnd: Sendable {
    /// Whose protocol is played.
    package enum Style: String, Sendable {
        case signaling
        case ecall
    }

    package struct Settings: Sendable {
        package var accessLifetime: Duration = .seconds(15 * 60)
        package var refreshLifetime: Duration = .seconds(30 * 86_400)
        /// Whether refresh answers hold `refreshExpiresIn`; login answers always do.
        package var tellsRefreshExpiry = true
        /// Names of members that lead to the object in which every answer has its own; empty: the answer itself.
        package var envelope: [String] = []
        /// Names of members that lead to the code of a refusal, outside of any envelope; empty: as the style has it.
        package var errorPlace: [String] = []
        /// What every request of the app has to carry; without it the back end says `unknown_app`.
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
    /// Has a code sent, with which a login needs no password.
    package var codePath: String { style == .signaling ? "/auth/code" : "/app/api/code" }
    package var refreshPath: String { style == .signaling ? "/auth/refresh" : "/app/api/refresh-token" }
    package var logoutPath: String { style == .signaling ? "/auth/logout" : "/app/api/logout" }
    /// Answers whoever shows a living access token.
    package var resourcePath: String { style == .signaling ? "/api/me" : "/app/api/me" }

    /// To be added to an issuer.
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

    /// The codes that people have been sent, the newest last.
    package var sentCodes: [String] { state.withLock { $0.sentCodes.map(\.code) } }

    package var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// Lets this much time pass for the back end alone.
    package func advance(by duration: Duration) {
        state.withLock { $0.elapsed += duration }
    }

    /// Refuses everything of every login from now on, with `code`, and perhaps `requiresReauth`.
    package func endLogins(code: String, requiresReauth: Bool = false) {
        state.withLock { $0.endLogins(.init(code: code, requiresReauth: requiresReauth)) }
    }

    /// Whether a refresh with `token` would succeed now.
    package func isAlive(_ token: String) -> Bool {
        state.withLock { $0.isAlive(token) }
    }

    /// Refreshes that succeeded.
    package var refreshes: Int { state.withLock { $0.refreshes } }

    /// A refresh token as a login on another device would have brought it.
    package func grantRefreshToken(user: String = "alice") -> String {
        state.withLock { $0.newTokens(for: $0.newLogin(user: user)).refresh }
    }
}
