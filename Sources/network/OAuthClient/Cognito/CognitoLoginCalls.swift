// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The requests of one login at a user pool.
struct CognitoLoginCalls {
    var endpoint: CognitoEndpoint
    var clientID: String
    var clientSecret: SecretID?
    /// The user name as entered: a name, an address or a number.
    var username: String

    typealias Parameter = (name: String, value: ParameterValue)

    /// A value in the clear, or the name of a sealed one.
    enum ParameterValue {
        case text(String)
        case sealed(SecretID)
    }

    /// A response, and the time just before its request was sent.
    struct TimedResponse {
        var reply: TokenResponseBody
        var requestedAt: Instant

        var object: JSONObject { reply.object }
    }

    func initiate(password: SecretID) async throws(CognitoErrorResponse) -> TimedResponse {
        try await initiate("USER_PASSWORD_AUTH", [("PASSWORD", .sealed(password))])
    }

    func initiate(_ proof: SRPClient) async throws(CognitoErrorResponse) -> TimedResponse {
        try await initiate("USER_SRP_AUTH", [("SRP_A", .text(proof.publicKey))])
    }

    private func initiate(
        _ flow: String,
        _ own: [Parameter]
    ) async throws(CognitoErrorResponse) -> TimedResponse {
        let (reply, requestedAt) = try await endpoint.call(.initiateAuth) { members throws(RefreshFailure) in
            members.add("AuthFlow", flow)
            members.add("ClientId", clientID)
            try members.add("AuthParameters") { parameters throws(RefreshFailure) in
                try add([("USERNAME", .text(username))] + own, for: username, to: parameters)
            }
        }
        return TimedResponse(reply: reply, requestedAt: requestedAt)
    }

    /// Responds to `challenge` with the pool's own name for the user.
    func respond(
        to challenge: CognitoChallenge,
        _ own: [Parameter]
    ) async throws(CognitoErrorResponse) -> TimedResponse {
        let name =
            (challenge.parameters["USERNAME"] ?? challenge.parameters["USER_ID_FOR_SRP"])?.string ?? username
        let (reply, requestedAt) = try await endpoint.call(
            .respondToAuthChallenge
        ) { members throws(RefreshFailure) in
            members.add("ClientId", clientID)
            members.add("ChallengeName", challenge.name)
            if let session = challenge.session { members.add("Session", session) }
            try members.add("ChallengeResponses") { parameters throws(RefreshFailure) in
                try add([("USERNAME", .text(name))] + own, for: name, to: parameters)
            }
        }
        return TimedResponse(reply: reply, requestedAt: requestedAt)
    }

    private func add(
        _ parameters: [Parameter],
        for name: String,
        to members: JSONRequestBody.MemberWriter
    ) throws(RefreshFailure) {
        let memory = endpoint.tools.memory
        for parameter in parameters {
            switch parameter.value {
            case .text(let text): members.add(parameter.name, text)
            case .sealed(let secret): try members.add(parameter.name, secret, from: memory)
            }
        }
        let hash = try CognitoSecretHash.compute(username: name, clientID: clientID, clientSecret, in: memory)
        if let hash { members.add("SECRET_HASH", hash) }
    }
}
