// SPDX-License-Identifier: MIT

import DemoIssuer
import Text

/// Login and its challenges.
extension CognitoDoubleState {
    mutating func initiateAuth(_ body: JSONObject) throws(Refusal) -> JSONObject {
        let client = try client(body)
        let flow = body["AuthFlow"]?.string ?? ""
        let parameters = body["AuthParameters"]?.object ?? JSONObject()
        if flow == "REFRESH_TOKEN_AUTH" { return try refresh(parameters, client) }
        guard client.flows.contains(flow) else {
            let message =
                flow == "USER_SRP_AUTH"
                ? "\(flow) is not enabled for the client." : "\(flow) flow not enabled for this client"
            throw Refusal(type: "InvalidParameterException", message: message)
        }
        let typed = parameters["USERNAME"]?.string ?? ""
        try checkHash(parameters, for: typed, client)
        guard let user = user(typed) else { throw wrongPassword }
        guard !user.isDisabled else { throw notAuthorized("User is disabled.") }
        if flow == "USER_SRP_AUTH" { return try startProof(parameters, user, client) }
        guard parameters["PASSWORD"]?.string == user.password else { throw wrongPassword }
        return try passwordAccepted(user, client)
    }

    private var wrongPassword: Refusal { notAuthorized("Incorrect username or password.") }

    /// Returns the user with a name or an email address.
    private func user(_ typed: String) -> User? {
        users[typed] ?? users.values.first { $0.address == typed }
    }

    private mutating func startProof(
        _ parameters: JSONObject,
        _ user: User,
        _ client: Client
    ) throws(Refusal) -> JSONObject {
        guard
            let exchange = SRPServer(
                clientKey: parameters["SRP_A"]?.string ?? "",
                pool: String(CognitoDouble.poolID.split(separator: "_")[1]),
                userID: "id-\(user.name)",
                password: user.password
            )
        else { throw Refusal(type: "InvalidParameterException", message: "SRP_A is not fit") }
        return suspend(
            PendingLogin(client: client.id, user: user.name, exchange: exchange, next: "PASSWORD_VERIFIER"),
            parameters: [
                "SALT": .string(exchange.saltText), "SRP_B": .string(exchange.serverKey),
                "SECRET_BLOCK": .string(exchange.secretBlock), "USERNAME": .string(user.name),
                "USER_ID_FOR_SRP": .string(exchange.userID),
            ]
        )
    }

    private mutating func suspend(_ login: PendingLogin, parameters: JSONObject) -> JSONObject {
        let session = RandomText.token("session")
        pending[session] = login
        return [
            "ChallengeName": .string(login.next), "Session": .string(session),
            "ChallengeParameters": .object(parameters),
        ]
    }

    /// Returns the next challenge, or the tokens, for a user who has proven the password.
    private mutating func passwordAccepted(_ user: User, _ client: Client) throws(Refusal) -> JSONObject {
        let parameters: JSONObject = ["USER_ID_FOR_SRP": .string(user.name)]
        var login = PendingLogin(client: client.id, user: user.name, exchange: nil, next: user.factor)
        if user.mustChangePassword {
            login.next = "NEW_PASSWORD_REQUIRED"
            return suspend(login, parameters: parameters)
        }
        if user.code != nil { return suspend(login, parameters: parameters) }
        return try tokens(user, client, withRefreshToken: true)
    }

    mutating func respondToChallenge(_ body: JSONObject) throws(Refusal) -> JSONObject {
        let client = try client(body)
        let session = body["Session"]?.string ?? ""
        let responses = body["ChallengeResponses"]?.object ?? JSONObject()
        guard let login = pending[session], login.client == client.id,
            login.next == body["ChallengeName"]?.string, let user = users[login.user]
        else { throw notAuthorized("Invalid session for the user.") }
        guard responses["USERNAME"]?.string == user.name else {
            throw notAuthorized("Invalid user name for the session.")
        }
        try checkHash(responses, for: user.name, client)
        let answer = try advance(login, user, client, responses)
        pending[session] = nil
        return answer
    }

    private mutating func advance(
        _ login: PendingLogin,
        _ user: User,
        _ client: Client,
        _ responses: JSONObject
    ) throws(Refusal) -> JSONObject {
        switch login.next {
        case "PASSWORD_VERIFIER":
            guard login.exchange?.accepts(responses) == true else { throw wrongPassword }
            return try passwordAccepted(user, client)
        case "NEW_PASSWORD_REQUIRED":
            let password = responses["NEW_PASSWORD"]?.string ?? ""
            guard password.count >= 8 else {
                let message = "Password does not conform to policy: Password not long enough"
                throw Refusal(type: "InvalidPasswordException", message: message)
            }
            change(user: user.name) {
                $0.password = password
                $0.mustChangePassword = false
            }
            return try passwordAccepted(users[user.name] ?? user, client)
        default:
            guard responses["\(login.next)_CODE"]?.string == user.code else {
                throw Refusal(type: "CodeMismatchException", message: "Invalid code received for user")
            }
            return try tokens(user, client, withRefreshToken: true)
        }
    }
}
