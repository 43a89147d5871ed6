// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The operations of Amazon's API that the agent uses.
enum CognitoAction: String, Sendable {
    case initiateAuth = "InitiateAuth"
    case respondToAuthChallenge = "RespondToAuthChallenge"
    case getTokensFromRefreshToken = "GetTokensFromRefreshToken"
    case revokeToken = "RevokeToken"
    case globalSignOut = "GlobalSignOut"
}

/// The endpoint of a pool's operations, in AWS JSON 1.1.
///
/// These operations require no signature.
struct CognitoEndpoint: Sendable {
    var url: EndpointURL
    var trust: ServerTrust
    var tools: ServerDependencies

    /// Calls `action` with the object that `members` writes.
    ///
    /// - Returns: The members of the response, none if it is empty, and the time just before the request was
    ///   sent.
    /// - Throws: ``CognitoErrorResponse``.
    func call(
        _ action: CognitoAction,
        _ members: (JSONRequestBody.MemberWriter) throws(RefreshFailure) -> Void
    ) async throws(CognitoErrorResponse) -> (answer: TokenResponseBody, requestedAt: Instant) {
        var request = OutgoingRequest(url: url, trust: trust)
        request.headers = [
            ("accept", "application/json"),
            ("x-amz-target", "AWSCognitoIdentityProviderService.\(action.rawValue)"),
        ]
        let requestedAt = tools.timekeeper.now
        let reply: ServerResponse
        do throws(RefreshFailure) {
            request.json = try JSONRequestBody(contentType: "application/x-amz-json-1.1", members)
            reply = try await tools.send(request)
        } catch {
            throw CognitoErrorResponse(failure: error)
        }
        return (try read(reply), reply.sentAt ?? requestedAt)
    }

    private func read(_ reply: ServerResponse) throws(CognitoErrorResponse) -> TokenResponseBody {
        guard reply.status == 200 else {
            throw CognitoErrorResponse(reply, from: url.hostAndPort, at: tools.timekeeper.wallTime)
        }
        if reply.body.isEmpty { return .empty }
        guard let found = TokenResponseBody(reply, .cognito) else {
            let message = "\(url.hostAndPort) returned 200: not a Cognito response"
            throw CognitoErrorResponse(failure: RefreshFailure(kind: .misbehaved, message: message))
        }
        return found
    }
}
