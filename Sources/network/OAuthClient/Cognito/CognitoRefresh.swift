// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One refresh at a user pool, by the one of Amazon's two operations that the client allows.
struct CognitoRefresh {
    var pool: CognitoPool
    var clientID: String
    var clientSecret: SecretID?
    var endpoint: CognitoEndpoint
    var learned: CognitoServer.LearnedSettings
    var token: SecretID
    var identity: CognitoUserClaims

    private typealias Answer = (answer: TokenResponseBody, requestedAt: Instant)

    /// Refreshes and returns the `AuthenticationResult`, its response, and the time just before the request
    /// was sent.
    func run() async throws(RefreshFailure) -> (JSONObject, TokenResponseBody, Instant) {
        do throws(CognitoErrorResponse) {
            let (answer, requestedAt) = try await exchange()
            guard let result = answer.object["AuthenticationResult"]?.object else {
                let challenge = ServerText.cleaned(
                    answer.object["ChallengeName"]?.string ?? "nothing",
                    limit: 60
                )
                let message = "the pool responded to a refresh with \(challenge) instead of tokens"
                throw CognitoErrorResponse(failure: RefreshFailure(kind: .misbehaved, message: message))
            }
            return (result, answer, requestedAt)
        } catch {
            throw error.failure
        }
    }

    private func exchange() async throws(CognitoErrorResponse) -> Answer {
        if pool.rotates ?? learned.rotates.load(ordering: .relaxed) { return try await getTokens() }
        do throws(CognitoErrorResponse) {
            return try await initiateAuth()
        } catch {
            guard pool.rotates == nil, error.mayMeanRotation else { throw error }
            return try await getTokensInstead(of: error)
        }
    }

    /// Tries the operation for rotating tokens.
    ///
    /// If that is rejected too, `refusal` is thrown.
    private func getTokensInstead(
        of refusal: CognitoErrorResponse
    ) async throws(CognitoErrorResponse) -> Answer {
        do throws(CognitoErrorResponse) {
            let answer = try await getTokens()
            learned.rotates.store(true, ordering: .relaxed)
            return answer
        } catch {
            // If this response was lost, the token may have been replaced. Any other failure adds no
            // information.
            throw error.failure.kind == .ambiguous && error.exception == nil && error.status == 0
                ? error : refusal
        }
    }

    private func initiateAuth() async throws(CognitoErrorResponse) -> Answer {
        try await endpoint.call(.initiateAuth) { members throws(RefreshFailure) in
            members.add("AuthFlow", "REFRESH_TOKEN_AUTH")
            members.add("ClientId", clientID)
            try members.add("AuthParameters") { parameters throws(RefreshFailure) in
                try parameters.add("REFRESH_TOKEN", token, from: endpoint.tools.memory)
                if let deviceKey = identity.deviceKey { parameters.add("DEVICE_KEY", deviceKey) }
                let hash = try CognitoSecretHash.compute(
                    username: identity.username ?? "",
                    clientID: clientID,
                    clientSecret,
                    in: endpoint.tools.memory
                )
                if let hash { parameters.add("SECRET_HASH", hash) }
            }
        }
    }

    private func getTokens() async throws(CognitoErrorResponse) -> Answer {
        try await endpoint.call(.getTokensFromRefreshToken) { members throws(RefreshFailure) in
            let memory = endpoint.tools.memory
            members.add("ClientId", clientID)
            if let clientSecret { try members.add("ClientSecret", clientSecret, from: memory) }
            if let deviceKey = identity.deviceKey { members.add("DeviceKey", deviceKey) }
            try members.add("RefreshToken", token, from: memory)
        }
    }
}
