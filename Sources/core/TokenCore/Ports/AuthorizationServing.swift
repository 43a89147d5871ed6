// SPDX-License-Identifier: MIT

/// All requests to authorization servers, as the port between the session's decisions and the network.
///
/// Implementations never discard a response: the tokens that they return are already in sealed memory.
///
/// The other ports are ``SessionStoring`` and ``RegistrationStoring`` (disk), ``FleetSharing`` (etcd),
/// ``CommandRunning`` (programs) and ``LoginPrompting`` (the user).
package protocol AuthorizationServing: Sendable {
    /// Makes one attempt to renew `session`.
    ///
    /// A rejection may lead to one more request, such as one with another proof. Nothing else is sent again.
    func refresh(_ session: SessionName, _ request: RefreshRequest) async -> RefreshOutcome

    /// Logs in, with output and prompts through `conversation`. Cancelling the task cancels the login.
    func logIn(
        _ session: SessionName,
        _ request: LoginRequest,
        conversation: any LoginPrompting
    ) async -> LoginOutcome

    /// Revokes the tokens at the server, the refresh token first (RFC 7009).
    func revoke(_ session: SessionName, _ tokens: RevocationRequest) async -> RevocationOutcome

    /// Deletes the client that the server registered for this session, there and locally (RFC 7592 §2.3).
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - found: the server data of the session's last login, if known.
    func unregister(_ session: SessionName, _ found: DiscoveredServer?) async

    /// Stores the user's secret for the client of `session`, durable and sealed, replacing the one before.
    ///
    /// The secret is erased on failure.
    /// - Throws: ``RefreshFailure`` if the secret cannot be stored.
    func keepClientSecret(_ secret: SecretID, for session: SessionName) async throws(RefreshFailure)

    /// Removes the user's secret for the client of `session`.
    func forgetClientSecret(of session: SessionName) async

    /// Creates a proof that the sender of `token` holds `key`, which the token is bound to (RFC 9449 §4.2).
    ///
    /// - Returns: the proof, or `nil` while the vault is locked.
    func proof(for tokenRequest: ProofRequest, showing token: SecretID, by key: SecretID) -> String?

    /// Opens new connections for stalled requests with nothing sent yet, because the network may have
    /// returned.
    ///
    /// Requests that may have been sent are not affected.
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

/// A refresh to send.
package struct RefreshRequest: Equatable, Sendable {
    package var attempt: AttemptNumber
    package var renewal: RenewalMethod
    package var variant: TokenVariant
    /// The login's ID token, to compare with the new one's `iss`, `sub` and `aud` (OIDC Core §12.2).
    package var idToken: SecretID?
    /// The current access token, for servers that require it with the refresh token.
    package var accessToken: SecretID?
    /// The token endpoint of the login (``LoginGrant/tokenEndpoint``).
    ///
    /// The refresh token is sent nowhere else.
    package var tokenEndpoint: String?
    /// The key that the login's tokens are bound to.
    package var proofKey: SecretID?
    /// The scope of the login.
    ///
    /// A request for a narrower one keeps its `offline_access`.
    package var grantedScope: [String]
    /// The tokens of other sessions that the new token is made from.
    ///
    /// They are set before the request is sent.
    package var sources = SubjectAndActorTokens()
    /// The server data that the login discovered (``LoginGrant/server``).
    package var server: DiscoveredServer?
    /// The deadlines of the request, or `nil` if no other host may send the refresh token.
    package var fence: RefreshRequestDeadlines?

    package init(
        attempt: AttemptNumber,
        renewal: RenewalMethod,
        variant: TokenVariant,
        idToken: SecretID? = nil,
        accessToken: SecretID? = nil,
        tokenEndpoint: String? = nil,
        proofKey: SecretID? = nil,
        grantedScope: [String] = [],
        server: DiscoveredServer? = nil,
        fence: RefreshRequestDeadlines? = nil
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

/// The tokens of other sessions that a token is exchanged for (RFC 8693 §2.1).
package struct SubjectAndActorTokens: Equatable, Sendable {
    /// The token of the party that the new token represents (`subject_token`).
    package var subject: SecretID?
    /// The token of the party that acts for the subject (`actor_token`).
    package var actor: SecretID?

    package init(subject: SecretID? = nil, actor: SecretID? = nil) {
        self.subject = subject
        self.actor = actor
    }
}

/// The result of one token request.
package enum RefreshOutcome: Equatable, Sendable {
    case granted(GrantedTokens)
    case failed(RefreshFailure)
    /// The response's access token cannot be accepted for the given reason. Its refresh token is valid.
    case unusable(RefreshFailure, RescuedRefreshToken)
}

/// The options of a login.
package struct LoginRequest: Equatable, Sendable {
    /// The flow, or `nil` for the session's configured one.
    package var flow: LoginFlow?
    /// Whether the user pastes the redirect URI instead of a listener receiving it.
    package var pastesRedirect: Bool
    package var username: String?
    /// The password or refresh token for `password` and `import`, if given in advance.
    ///
    /// The caller erases it.
    package var secret: SecretID?
    /// Whether ``secret`` is a signed token in place of a password (RFC 7523).
    ///
    /// It needs no user name.
    package var isAssertion: Bool
    /// Whether no user is present to judge the server that the login leads to.
    package var isUnattended: Bool
    /// The current login, or the latest one.
    package var present: PreviousLogin?
    /// The scopes and authentication requirements that a resource requests in addition to the
    /// configuration, or `nil`.
    ///
    /// Only the account of ``present`` is accepted then.
    package var stepUp: StepUp?
    /// The issuer that the user has agreed to and that the session's resource must name, or `nil` for any.
    package var agreedIssuer: String?
    /// The session's name, for display only.
    package var session: SessionName?

    package init(
        flow: LoginFlow? = nil,
        pastesRedirect: Bool = false,
        username: String? = nil,
        secret: SecretID? = nil,
        isAssertion: Bool = false,
        isUnattended: Bool = false,
        present: PreviousLogin? = nil,
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

    /// Whether the flow needs no user, so that sessions start by themselves
    /// (``SessionPolicy/startsByItself``).
    package var needsNobody: Bool {
        switch self {
        case .clientCredentials, .tokenExchange, .jwtBearer: true
        case .browser, .device, .password, .import: false
        }
    }

    /// Whether the flow makes a login, even if only the client's own.
    package var isLogin: Bool {
        switch self {
        case .browser, .device, .password, .clientCredentials, .import: true
        case .tokenExchange, .jwtBearer: false
        }
    }
}

/// The user interface of a login.
package protocol LoginPrompting: Sendable {
    func tell(_ step: LoginMessage) async
    /// Prompts for one value and waits for it. The value arrives sealed.
    ///
    /// - Throws: `CancellationError` if the user left.
    func ask(_ question: LoginInputPrompt) async throws -> SecretID
    /// Registers `show`, which is called once when the login has ended.
    func whenEnded(_ show: @escaping @Sendable (LoginResultForBrowser) -> Void) async
}

/// A step of a login that is shown to the user, already stripped of control characters.
package enum LoginMessage: Equatable, Sendable {
    /// The time in which a login in a browser has to be finished, 5 minutes.
    package static let browserTimeout = Duration.seconds(300)

    /// Open this URL in a browser. It ends at `redirectURI`, which must be registered for the client.
    case openURL(String, redirectURI: String? = nil)
    /// The session's resource names this server, and these scopes are requested.
    case serverFound(DiscoveredServer, scopes: [String])
    /// Enter `code` at `verificationURI` (RFC 8628 §3.3). `complete` already contains the code.
    case userCode(code: String, verificationURI: String, complete: String?, expiresIn: Duration)
    /// Information for the user during the login.
    case notice(String)
}

/// A prompt for one value that a login needs from the user.
package struct LoginInputPrompt: Equatable, Sendable {
    /// The kind of value, as a stable word for programs.
    package enum Kind: String, Sendable {
        case username
        case password
        case newPassword = "new_password"
        case oneTimeCode = "one_time_code"
        case refreshToken = "refresh_token"
        case redirectAddress = "redirect_address"
    }

    package var kind: Kind
    /// The text shown to the user, without a trailing colon.
    package var prompt: String
    /// Whether the input must not be echoed.
    package var isSecret: Bool

    package init(kind: Kind, prompt: String, isSecret: Bool) {
        self.kind = kind
        self.prompt = prompt
        self.isSecret = isSecret
    }
}

/// The result of a login.
package enum LoginOutcome: Equatable, Sendable {
    case granted(LoginGrant)
    case failed(RefreshFailure)
    case cancelled
}

/// The result of a finished login: tokens, the means to renew them, and the account.
package struct LoginGrant: Equatable, Sendable {
    package var tokens: GrantedTokens
    package var renewal: RenewalMethod
    /// The token endpoint that issued the tokens.
    ///
    /// Refresh tokens are sent nowhere else until the next login.
    package var tokenEndpoint: String
    /// The `sub` of the validated ID token, if there was one.
    package var subject: String?
    /// The user name as it was typed, or as the validated ID token has it, or `nil` if neither has one.
    ///
    /// For display and as the user name of the next login. It is not compared, because a server may reuse it.
    package var account: String?
    /// The key that the tokens are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// The server data that the login discovered.
    ///
    /// Refreshes and the logout need the same.
    package var server: DiscoveredServer?

    package init(
        tokens: GrantedTokens,
        renewal: RenewalMethod,
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

/// The tokens to revoke, the refresh token first, then the access token.
package struct RevocationRequest: Equatable, Sendable {
    package var refreshToken: SecretID?
    package var accessToken: SecretID?
    /// The ID token that also ends the user's session at the issuer (OIDC RP-Initiated Logout
    /// `id_token_hint`).
    package var idToken: SecretID?
    /// The token endpoint of the login, see ``RefreshRequest/tokenEndpoint``.
    package var tokenEndpoint: String?
    /// The server data of the login, see ``RefreshRequest/server``.
    package var server: DiscoveredServer?
    /// The settings under which the login was made, as ``LoginSettingsFingerprint/text``, or `nil` if unknown.
    ///
    /// They decide where its tokens may be revoked.
    package var settings: String?

    /// All secrets that the server is shown.
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

/// The result of a revocation.
package enum RevocationOutcome: Equatable, Sendable {
    case revoked
    /// There was no token that a server could revoke.
    case nothing
    /// The server does not support revocation, so nothing was sent. The text names the missing part.
    case unsupported(String)
    /// The server rejected the revocation permanently.
    case refused(RefreshFailure)
    /// The revocation failed and is worth a retry.
    case failed(RefreshFailure)
}
