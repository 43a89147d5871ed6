// SPDX-License-Identifier: MIT

import Crypto
import DemoIssuer
import Text

/// The state of a user pool.
struct CognitoDoubleState: Sendable {
    typealias Client = CognitoDouble.Client
    typealias User = CognitoDouble.User

    struct RefreshToken: Sendable {
        var client: String
        var user: String
        var expiresAt: Duration
        var isRevoked = false
        /// Whether rotation has replaced the token.
        var isSpent = false
    }

    /// A login between its first request and its tokens.
    struct PendingLogin: Sendable {
        var client: String
        var user: String
        var exchange: SRPServer?
        var next: String
    }

    /// An error in Amazon's terms.
    struct Refusal: Error {
        var type: String
        var message: String
    }

    private(set) var clients: [String: Client]
    private(set) var users: [String: User]
    var accessLifetime = Duration.seconds(3600)
    var elapsed = Duration.zero
    var refreshTokens: [String: RefreshToken] = [:]
    /// The access tokens that can sign out, with their users.
    private var accessTokens: [String: String] = [:]
    var pending: [String: PendingLogin] = [:]
    private let key: SigningKey
    private let start = ContinuousClock.now

    init(clients: [Client], users: [User]) throws {
        self.clients = Dictionary(clients.map { ($0.id, $0) }) { $1 }
        self.users = Dictionary(users.map { ($0.name, $0) }) { $1 }
        key = try SigningKey(.es256)
    }

    var now: Duration { ContinuousClock.now - start + elapsed }

    mutating func change(client id: String, _ body: (inout Client) -> Void) {
        guard var client = clients[id] else { return }
        body(&client)
        clients[id] = client
    }

    mutating func change(user name: String, _ body: (inout User) -> Void) {
        guard var user = users[name] else { return }
        body(&user)
        users[name] = user
    }

    func isAlive(_ token: String) -> Bool {
        guard let entry = refreshTokens[token] else { return false }
        return !entry.isRevoked && !entry.isSpent && now < entry.expiresAt
    }

    mutating func answer(_ request: IssuerRequest) -> IssuerResponse {
        let action = request.header("x-amz-target")?.split(separator: ".").last.map(String.init) ?? ""
        guard request.header("content-type") == "application/x-amz-json-1.1", let body = request.json else {
            return CognitoDouble.failure("SerializationException", "not JSON 1.1")
        }
        do throws(Refusal) {
            let answer = try perform(action, body)
            // Amazon's response to a revocation has no body.
            return action == "RevokeToken" ? IssuerResponse() : .json(.object(answer))
        } catch {
            return CognitoDouble.failure(error.type, error.message)
        }
    }

    private mutating func perform(_ action: String, _ body: JSONObject) throws(Refusal) -> JSONObject {
        switch action {
        case "InitiateAuth": return try initiateAuth(body)
        case "RespondToAuthChallenge": return try respondToChallenge(body)
        case "GetTokensFromRefreshToken": return try getTokens(body)
        case "RevokeToken": return try revoke(body)
        case "GlobalSignOut": return try signOut(body)
        default: throw Refusal(type: "UnknownOperationException", message: "")
        }
    }

    // MARK: Clients

    func client(_ body: JSONObject) throws(Refusal) -> Client {
        let id = body["ClientId"]?.string ?? ""
        guard let client = clients[id] else {
            throw Refusal(
                type: "ResourceNotFoundException",
                message: "User pool client \(id) does not exist."
            )
        }
        return client
    }

    /// Checks `SECRET_HASH` for `name` if the client has a secret.
    func checkHash(_ parameters: JSONObject, for name: String, _ client: Client) throws(Refusal) {
        guard let secret = client.secret else { return }
        guard let hash = parameters["SECRET_HASH"]?.string else {
            let message = "Client \(client.id) is configured with secret but SECRET_HASH was not received"
            throw Refusal(type: "NotAuthorizedException", message: message)
        }
        var mac = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
        mac.update(data: Array((name + client.id).utf8))
        guard Base64.encoded(mac.finalize()) == hash else {
            let message = "SecretHash does not match for the client: \(client.id)"
            throw Refusal(type: "NotAuthorizedException", message: message)
        }
    }

    func checkSecret(_ body: JSONObject, _ client: Client) throws(Refusal) {
        guard body["ClientSecret"]?.string == client.secret else {
            let message = "Unable to verify secret for client \(client.id)"
            throw Refusal(type: "NotAuthorizedException", message: message)
        }
    }

    // MARK: Tokens

    mutating func tokens(_ user: User, _ client: Client, withRefreshToken: Bool) throws(Refusal) -> JSONObject
    {
        let lifetime = accessLifetime.components.seconds
        let access = try sign(
            [
                "token_use": "access", "client_id": .string(client.id), "username": .string(user.name),
                "scope": "aws.cognito.signin.user.admin",
            ],
            user,
            lifetime
        )
        let identity = try sign(
            [
                "token_use": "id", "aud": .string(client.id), "cognito:username": .string(user.name),
            ],
            user,
            lifetime
        )
        accessTokens[access] = user.name
        var result: JSONObject = [
            "AccessToken": .string(access), "IdToken": .string(identity), "TokenType": "Bearer",
            "ExpiresIn": .integer(lifetime),
        ]
        if withRefreshToken {
            let token = RandomText.token("refresh")
            let expiresAt = now + .seconds(30 * 86_400)
            refreshTokens[token] = RefreshToken(client: client.id, user: user.name, expiresAt: expiresAt)
            result["RefreshToken"] = .string(token)
        }
        return ["AuthenticationResult": .object(result), "ChallengeParameters": .object(JSONObject())]
    }

    private func sign(_ own: JSONObject, _ user: User, _ lifetime: Int64) throws(Refusal) -> String {
        var claims = own
        let time = WallClock.seconds
        claims["iss"] = .string(
            "https://cognito-idp.\(CognitoDouble.region).amazonaws.com/\(CognitoDouble.poolID)"
        )
        claims["sub"] = .string("sub-\(user.name)")
        claims["jti"] = .string(RandomText.token("jti"))
        claims["iat"] = .integer(time)
        claims["exp"] = .integer(time + lifetime)
        do {
            return try key.sign(claims: claims)
        } catch {
            throw Refusal(type: "InternalErrorException", message: "\(error)")
        }
    }

    /// Invalidates an access token.
    ///
    /// - Returns: the user of the token, or `nil` if it was not valid.
    mutating func endAccess(_ token: String) -> String? {
        accessTokens.removeValue(forKey: token)
    }
}
