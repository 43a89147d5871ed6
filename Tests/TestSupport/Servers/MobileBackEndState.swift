// SPDX-License-Identifier: MIT

import DemoIssuer
import Text

/// The state of a mobile back end.
struct MobileBackEndState: Sendable {
    /// The reason a login has ended.
    struct Refusal: Equatable, Sendable {
        var code: String
        var requiresReauth = false
    }

    private struct Login: Sendable {
        var user: String
        var device: String
        var refreshToken = ""
        var refreshExpiresAt = Duration.zero
        var refusal: Refusal?
    }

    let style: MobileBackEnd.Style
    var settings: MobileBackEnd.Settings
    /// The time added to this back end's clock.
    var elapsed = Duration.zero
    private(set) var refreshes = 0
    /// Every sent code, in order.
    ///
    /// A login refers to it by its number from 1.
    private(set) var sentCodes: [(user: String, code: String)] = []
    private var logins: [Int: Login] = [:]
    /// Every refresh token ever issued, with its login.
    private var refreshTokens: [String: Int] = [:]
    private var accessTokens: [String: (login: Int, expiresAt: Duration)] = [:]
    private let start = ContinuousClock.now

    init(style: MobileBackEnd.Style, settings: MobileBackEnd.Settings) {
        self.style = style
        self.settings = settings
    }

    private var now: Duration { ContinuousClock.now - start + elapsed }

    // MARK: Endpoints

    /// Returns whether `request` contains the members and headers of the app's requests.
    func isFromApp(_ request: IssuerRequest) -> Bool {
        settings.headers.allSatisfy { request.header($0.key) == $0.value }
            && settings.members.members.allSatisfy { request.json?[$0.name] == $0.value }
    }

    mutating func sendCode(_ request: IssuerRequest) -> IssuerResponse {
        guard let user = request.json?["username"]?.string else { return refuse("unknown_user") }
        sentCodes.append((user, String(Int.random(in: 100_000...999_999))))
        return success(["attemptId": .integer(sentCodes.count), "channel": "sms"])
    }

    /// Returns whether the password or code is that of `user`.
    private func isKnown(_ user: String, _ body: JSONObject) -> Bool {
        guard let code = body["code"]?.string else { return body["password"]?.string == "\(user)-password" }
        guard let number = body["attemptId"]?.integer, sentCodes.indices.contains(Int(number) - 1) else {
            return false
        }
        return sentCodes[Int(number) - 1] == (user, code)
    }

    mutating func logIn(_ request: IssuerRequest) -> IssuerResponse {
        guard let body = request.json, let user = body["username"]?.string, isKnown(user, body) else {
            return refuse(style == .signaling ? "invalid_credentials" : "unauthorized")
        }
        let login = newLogin(user: user)
        var answer = answer(newTokens(for: login), tellsRefreshExpiry: true)
        answer["userId"] = .string("user-\(user)")
        answer["deviceId"] = logins[login].map { .string($0.device) }
        return success(answer)
    }

    mutating func refresh(_ request: IssuerRequest) -> IssuerResponse {
        guard let token = request.json?["refreshToken"]?.string, !token.isEmpty else {
            return refuse(style == .signaling ? "invalid_refresh_token" : "unauthorized")
        }
        guard let number = refreshTokens[token], let login = logins[number] else {
            return refuse(style == .signaling ? "invalid_refresh_token" : "ErrRefreshTokenExpired")
        }
        if let refusal = login.refusal { return refuse(refusal) }
        guard login.refreshToken == token else {
            // A repeated use shows that the token was copied.
            let refusal = Refusal(code: style == .signaling ? "token_revoked" : "ErrRefreshTokenExpired")
            logins[number]?.refusal = refusal
            return refuse(refusal)
        }
        guard now < login.refreshExpiresAt else {
            return refuse(style == .signaling ? "refresh_token_expired" : "ErrRefreshTokenExpired")
        }
        refreshes += 1
        let tokens = newTokens(for: number)
        return success(answer(tokens, tellsRefreshExpiry: settings.tellsRefreshExpiry))
    }

    mutating func logOut(_ request: IssuerRequest) -> IssuerResponse {
        switch login(of: request) {
        case .success(let number):
            let refusal = Refusal(code: style == .signaling ? "token_revoked" : "unauthorized")
            logins[number]?.refusal = refusal
            return IssuerResponse(status: 204)
        case .failure(let refusal): return refuse(refusal.refusal)
        }
    }

    func resource(_ request: IssuerRequest) -> IssuerResponse {
        switch login(of: request) {
        case .success(let number): .json(["user": .string(logins[number]?.user ?? "")])
        case .failure(let refusal): refuse(refusal.refusal)
        }
    }

    // MARK: Tokens

    mutating func newLogin(user: String) -> Int {
        let number = logins.count + 1
        logins[number] = Login(user: user, device: "device-\(number)")
        return number
    }

    /// Issues a new pair of tokens, which replaces the login's refresh token.
    mutating func newTokens(for login: Int) -> (access: String, refresh: String) {
        let access = RandomText.token("access")
        let refresh = RandomText.token("refresh")
        accessTokens[access] = (login, now + settings.accessLifetime)
        refreshTokens[refresh] = login
        logins[login]?.refreshToken = refresh
        let expiresAt = now + settings.refreshLifetime
        logins[login]?.refreshExpiresAt = expiresAt
        return (access, refresh)
    }

    mutating func endLogins(_ refusal: Refusal) {
        logins = logins.mapValues { login in
            var ended = login
            ended.refusal = refusal
            return ended
        }
    }

    func isAlive(_ token: String) -> Bool {
        guard let login = refreshTokens[token].flatMap({ logins[$0] }) else { return false }
        return login.refusal == nil && login.refreshToken == token && now < login.refreshExpiresAt
    }

    private func answer(
        _ tokens: (access: String, refresh: String),
        tellsRefreshExpiry: Bool
    ) -> JSONObject {
        var answer = JSONObject()
        answer["accessToken"] = .string(tokens.access)
        answer["refreshToken"] = .string(tokens.refresh)
        answer["expiresIn"] = .integer(settings.accessLifetime.components.seconds)
        if tellsRefreshExpiry {
            answer["refreshExpiresIn"] = .integer(settings.refreshLifetime.components.seconds)
        }
        return answer
    }

    // MARK: Errors

    private struct Refused: Error {
        var refusal: Refusal
    }

    private func login(of request: IssuerRequest) -> Result<Int, Refused> {
        let expired = style == .signaling ? "access_token_expired" : "ErrAccessTokenExpired"
        guard let token = request.bearerToken, let entry = accessTokens[token] else {
            return .failure(Refused(refusal: Refusal(code: expired)))
        }
        if let refusal = logins[entry.login]?.refusal { return .failure(Refused(refusal: refusal)) }
        guard now < entry.expiresAt else { return .failure(Refused(refusal: Refusal(code: expired))) }
        return .success(entry.login)
    }

    func refuse(_ code: String) -> IssuerResponse {
        refuse(Refusal(code: code))
    }

    /// Returns an error, which is always a 401 with a code in the body.
    private func refuse(_ refusal: Refusal) -> IssuerResponse {
        var body = JSONObject()
        body["message"] = "Please sign in again."
        if refusal.requiresReauth { body["requiresReauth"] = true }
        guard let place = settings.errorPlace.first else {
            body[style == .signaling ? "error" : "code"] = .string(refusal.code)
            return .json(wrapped(body, in: settings.envelope), status: 401)
        }
        let code = settings.errorPlace.dropFirst().reversed().reduce(JSONValue.string(refusal.code)) {
            [$1: $0]
        }
        body[place] = code
        return .json(.object(body), status: 401)
    }

    private func success(_ answer: JSONObject) -> IssuerResponse {
        .json(wrapped(answer, in: settings.envelope))
    }

    private func wrapped(_ object: JSONObject, in envelope: [String]) -> JSONValue {
        envelope.reversed().reduce(.object(object)) { [$1: $0] }
    }
}
