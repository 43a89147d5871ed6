// SPDX-License-Identifier: MIT

/// Everything the agent asks of authorization servers; the port between deciding and the network.
///
/// Implementations never throw away an answer: tokens they return are already in sealed memory.
package protocol AuthorizationServing: Sendable {
    /// Sends one token request that renews `session`, with no retry of its own.
    func refresh(_ session: SessionName, _ request: RefreshRequest) async -> RefreshOutcome

    /// Logs in, telling and asking the person through `conversation`; cancelling the task cancels the login.
    func logIn(
        _ session: SessionName,
        _ request: LoginRequest,
        conversation: any LoginPrompting
    ) async -> LoginOutcome

    /// Tells the server to forget the tokens, refresh token first (RFC 7009).
    func revoke(_ session: SessionName, _ tokens: RevocationRequest) async -> RevocationOutcome

    /// Has the client deleted that the server registered for this session, and forgets it (RFC 7592 §2.3).
    ///
    /// `found`: what the session's last login found out, if that is known.
    func unregister(_ session: SessionName, _ found: DiscoveredServer?) async

    /// Keeps the secret that a person has given for the client of `session`, durable and sealed, in place of the one
    /// before; it is erased if that cannot be done.
    func keepClientSecret(_ secret: SecretID, for session: SessionName) async throws(RefreshFailure)

    /// Forgets the secret that a person has given for the client of `session`.
    func forgetClientSecret(of session: SessionName) async

    /// A proof that the sender of `token` holds `key`, which the token is bound to (RFC 9449 §4.2); `nil`
    /// while the vault is locked.
    func proof(for demand: ProofRequest, showing token: SecretID, by key: SecretID) -> String?

    /// The network may be back: requests that hang with nothing sent yet get a new connection at once.
    ///
    /// Requests that may have been sent are left alone.
    func networkReturned()
}

extension AuthorizationServing {
    package func unregister(_ session: SessionName, _ found: DiscoveredServer?) async {}

    package func keepClientSecret(
        _ secret: SecretID,
        for session: SessionName
    ) async throws(RefreshFailure) {}

    package func forgetClientSecret(of session: SessionName) async {}
}

/// One renewal to send.
package struct RefreshRequest: Equatable, Sendable {
    package var attempt: AttemptNumber
    package var renewal: Renewal
    package var variant: TokenVariant
    /// The ID token of the login, to compare the new one's `iss`, `sub` and `aud` with (OIDC Core §12.2).
    package var idToken: SecretID?
    /// The current access token, for servers that want it beside the refresh token.
    package var accessToken: SecretID?
    /// The endpoint of the login (``LoginGrant/tokenEndpoint``); the refresh token goes nowhere else.
    package var tokenEndpoint: String?
    /// The key that the login's tokens are bound to.
    package var proofKey: SecretID?
    /// The scope of the login; a request for a narrower one keeps its `offline_access`.
    package var grantedScope: [String]
    /// The tokens of other sessions that the new token is made of; filled in before the request is sent.
    package var sources = SourceTokens()
    /// What the login found out about its server (``LoginGrant/server``).
    package var server: DiscoveredServer?
    /// The moments that it must not be later than; `nil`: nobody else has a claim to the refresh token.
    package var fence: ExchangeDeadlines?

    package init(
        attempt: AttemptNumber,
        renewal: Renewal,
        variant: TokenVariant,
        idToken: SecretID? = nil,
        accessToken: SecretID? = nil,
        tokenEndpoint: String? = nil,
        proofKey: SecretID? = nil,
        grantedScope: [String] = [],
        server: DiscoveredServer? = nil,
        fence: ExchangeDeadlines? = nil
    ) {
        self.attempt = attempt
        self.renewal = renewal
        self.variant = variant
        self.idToken = idToken
        self.accessToken = accessToken
        self.tokenEndpoint = tokenEndpoint
        self.proofKey = proofKey
        self.grantedScope = grantedScope
        self.server = server
        self.fence = fence
    }
}

/// The moments that a token request must not be later than, whatever stops the agent or the machine meanwhile.
package struct ExchangeDeadlines: Equatable, Sendable {
    /// It begins before this moment or not at all: another host of the fleet may send from then on.
    package var sendBefore: Instant
    /// Its connection is reset at this moment, unless the other end has acknowledged the whole request by then: no part
    /// of it arrives later.
    package var arriveBefore: Instant
    /// Its connection is reset at this moment at the latest, a response or not.
    package var endBefore: Instant

    /// Nothing is sent at all: the request is answered with what was recorded of an earlier one, or not.
    package static let recorded = ExchangeDeadlines(
        sendBefore: Instant(nanoseconds: .min),
        arriveBefore: Instant(nanoseconds: .min),
        endBefore: Instant(nanoseconds: .min)
    )

    package init(sendBefore: Instant, arriveBefore: Instant, endBefore: Instant) {
        self.sendBefore = sendBefore
        self.arriveBefore = arriveBefore
        self.endBefore = endBefore
    }
}

/// Tokens of other sessions that a token is exchanged for (RFC 8693 §2.1).
package struct SourceTokens: Equatable, Sendable {
    /// Whom the new token stands for.
    package var subject: SecretID?
    /// Who acts for the subject.
    package var actor: SecretID?

    package init(subject: SecretID? = nil, actor: SecretID? = nil) {
        self.subject = subject
        self.actor = actor
    }
}

/// How a session gets its next access token.
package enum Renewal: Equatable, Sendable {
    /// Present this refresh token (RFC 6749 §6).
    case refreshToken(SecretID)
    /// Ask anew with what there is anyway, such as the client's own credentials (RFC 6749 §4.4), an assertion,
    /// another session's token, a command or a key: there is no login to lose, and nothing is stored.
    case anew
    /// The server gave no refresh token: the session ends with its access token.
    case impossible
    /// The keepers of a fleet have the refresh token; this host asks them (``SessionPolicy/isReader``).
    case byKeepers
}

package enum RefreshOutcome: Equatable, Sendable {
    case granted(GrantedTokens)
    case failed(RefreshFailure)
    /// The answer's access token cannot be accepted, for the reason given; its refresh token counts.
    case unusable(RefreshFailure, SavedRenewal)
}

/// How a person wants to log in.
package struct LoginRequest: Equatable, Sendable {
    /// `nil`: the session's configured flow.
    package var flow: LoginFlow?
    /// The person pastes the redirect address instead of a listener receiving it.
    package var pastesRedirect: Bool
    package var username: String?
    /// For `password` and `import`, when given up front: the password or refresh token; erased by the caller.
    package var secret: SecretID?
    /// ``secret`` is a signed token in place of a password (RFC 7523); it needs no user name.
    package var isAssertion: Bool
    /// Nobody is there who could judge where the login leads.
    package var isUnattended: Bool
    /// The login that stands, or stood last.
    package var present: CurrentLogin?
    /// More than the configuration asks for; only the account of ``present`` will do then.
    package var stepUp: StepUp?
    /// The issuer that a person has agreed to, which the session's resource has to name; `nil`: any.
    package var agreedIssuer: String?

    package init(
        flow: LoginFlow? = nil,
        pastesRedirect: Bool = false,
        username: String? = nil,
        secret: SecretID? = nil,
        isAssertion: Bool = false,
        isUnattended: Bool = false,
        present: CurrentLogin? = nil,
        stepUp: StepUp? = nil,
        agreedIssuer: String? = nil
    ) {
        self.flow = flow
        self.pastesRedirect = pastesRedirect
        self.username = username
        self.secret = secret
        self.isAssertion = isAssertion
        self.isUnattended = isUnattended
        self.present = present
        self.stepUp = stepUp
        self.agreedIssuer = agreedIssuer
    }
}

/// The ways to obtain the first tokens, spelled as in the configuration.
package enum LoginFlow: String, CaseIterable, Sendable {
    case browser
    case device
    case password
    case clientCredentials = "client_credentials"
    case `import`
    case tokenExchange = "token_exchange"
    case jwtBearer = "jwt_bearer"

    /// Needs no person, so that sessions start by themselves (``SessionPolicy/startsByItself``).
    package var needsNobody: Bool {
        switch self {
        case .clientCredentials, .tokenExchange, .jwtBearer: true
        case .browser, .device, .password, .import: false
        }
    }

    /// Whether there is a login at all, if only the client's own.
    package var isLogin: Bool {
        switch self {
        case .browser, .device, .password, .clientCredentials, .import: true
        case .tokenExchange, .jwtBearer: false
        }
    }
}

/// The person's end of a login.
package protocol LoginPrompting: Sendable {
    func tell(_ step: LoginStep) async
    /// Asks for one thing and waits for the answer, which arrives sealed.
    /// - Throws: `CancellationError` when the person left.
    func ask(_ question: LoginPrompt) async throws -> SecretID
    /// Has `show` called once, when the login has ended and the person is told.
    func whenEnded(_ show: @escaping @Sendable (LoginEnding) -> Void) async
}

/// What a login tells the person, already stripped of control characters.
package enum LoginStep: Equatable, Sendable {
    /// The time in which a login in a browser has to be finished: 5 minutes.
    package static let browserTimeout = Duration.seconds(300)

    /// Open this address in a browser; it ends at `redirectURI`, which has to be registered for the client.
    case openURL(String, redirectURI: String? = nil)
    /// The session's resource leads to this server, and these scopes are asked for.
    case serverFound(DiscoveredServer, scopes: [String])
    /// Enter `code` at `verificationURI` (RFC 8628 §3.3); `complete` carries the code already.
    case userCode(code: String, verificationURI: String, complete: String?, expiresIn: Duration)
    /// Something the person should know meanwhile.
    case notice(String)
}

/// One thing a login needs from the person.
package struct LoginPrompt: Equatable, Sendable {
    /// What is asked, as a stable word for programs.
    package enum Kind: String, Sendable {
        case username
        case password
        case newPassword = "new_password"
        case oneTimeCode = "one_time_code"
        case refreshToken = "refresh_token"
        case redirectAddress = "redirect_address"
    }

    package var kind: Kind
    /// Shown to the person, without a trailing colon.
    package var prompt: String
    /// Must not be echoed.
    package var isSecret: Bool

    package init(kind: Kind, prompt: String, isSecret: Bool) {
        self.kind = kind
        self.prompt = prompt
        self.isSecret = isSecret
    }
}

package enum LoginOutcome: Equatable, Sendable {
    case granted(LoginGrant)
    case failed(RefreshFailure)
    case cancelled
}

/// A finished login: tokens, how to renew them, and who it is.
package struct LoginGrant: Equatable, Sendable {
    package var tokens: GrantedTokens
    package var renewal: Renewal
    /// The token endpoint the tokens came from; refresh tokens go nowhere else until the next login.
    package var tokenEndpoint: String
    /// `sub` of the validated ID token, when there was one.
    package var subject: String?
    /// The user name that was typed, when one was.
    package var account: String?
    /// The key that the tokens are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// What the login found out about its server; refreshes and the logout need the same.
    package var server: DiscoveredServer?

    package init(
        tokens: GrantedTokens,
        renewal: Renewal,
        tokenEndpoint: String,
        subject: String? = nil,
        account: String? = nil,
        proofKey: SecretID? = nil,
        server: DiscoveredServer? = nil
    ) {
        self.tokens = tokens
        self.renewal = renewal
        self.tokenEndpoint = tokenEndpoint
        self.subject = subject
        self.account = account
        self.proofKey = proofKey
        self.server = server
    }
}

/// Tokens to revoke, in the order refresh token, access token.
package struct RevocationRequest: Equatable, Sendable {
    package var refreshToken: SecretID?
    package var accessToken: SecretID?
    /// Ends the person's session at the issuer as well (OIDC RP-Initiated Logout `id_token_hint`).
    package var idToken: SecretID?
    /// The endpoint of the login, as in ``RefreshRequest/tokenEndpoint``.
    package var tokenEndpoint: String?
    /// As in ``RefreshRequest/server``.
    package var server: DiscoveredServer?
    /// The settings of the login (``SessionPolicy/madeOf``), or `nil` if they are not known.
    package var settings: String?

    /// Everything that the server is shown.
    package var secrets: Set<SecretID> { Set([refreshToken, accessToken, idToken].compactMap(\.self)) }

    package init(
        refreshToken: SecretID?,
        accessToken: SecretID?,
        idToken: SecretID? = nil,
        tokenEndpoint: String? = nil,
        server: DiscoveredServer? = nil,
        settings: String? = nil
    ) {
        self.settings = settings
        self.refreshToken = refreshToken
        self.accessToken = accessToken
        self.idToken = idToken
        self.tokenEndpoint = tokenEndpoint
        self.server = server
    }
}

package enum RevocationOutcome: Equatable, Sendable {
    case revoked
    /// There was no token that a server could revoke.
    case nothing
    /// The server has no way to revoke, so nothing was sent; says what is missing.
    case unsupported(String)
    /// The server refused for good.
    case refused(RefreshFailure)
    /// Worth another try later.
    case failed(RefreshFailure)
}
