// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The service of IAM Identity Center that registers clients and gives tokens: OAuth as JSON, with names in camel case.
///
/// Source: AWS, "IAM Identity Center OIDC API Reference": RegisterClient, StartDeviceAuthorization, CreateToken.
struct TokenService: Sendable {
    /// Without a slash at the end.
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies

    /// Posts the object that `members` writes; `isRefresh`: to refresh tokens.
    ///
    /// - Returns: the object in the answer, and the time read before anything was sent.
    /// - Throws: what a refusal means for a session, with the code as OAuth spells it.
    func post(
        _ path: String,
        isRefresh: Bool = false,
        _ members: (JSONRequestBody.Members) throws(RefreshFailure) -> Void
    ) async throws(RefreshFailure) -> (object: JSONObject, requestedAt: Instant) {
        var request = OutgoingRequest(url: try url(path), trust: trust)
        request.headers = [("accept", "application/json")]
        request.json = try JSONRequestBody(members)
        let requestedAt = tools.timekeeper.now
        let reply = try await tools.send(request)
        guard reply.status == 200, let object = reply.jsonObject, OAuthError(object) == nil else {
            throw failure(reply, from: request.url, isRefresh: isRefresh)
        }
        return (object, requestedAt)
    }

    /// The address of `path`, such as `/token`.
    func url(_ path: String) throws(RefreshFailure) -> EndpointURL {
        try EndpointURL(address + path, of: "sso_oidc_endpoint")
    }

    private func failure(_ reply: ServerResponse, from url: EndpointURL, isRefresh: Bool) -> RefreshFailure {
        var answer = reply.refused(object: reply.jsonObject, at: tools.timekeeper.wallTime)
        answer.isRefresh = isRefresh
        guard answer.error == nil, let exception = reply.awsException else {
            return FailureClassification.classify(answer, from: url.hostAndPort)
        }
        // Some refusals name the error in the header alone.
        let object = reply.jsonObject
        let description = (object?["message"] ?? object?["Message"])?.string
        answer.error = OAuthError(exception: exception, description: description)
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        if failure.kind == .unexplained, AWSException.isTemporary(exception) { failure.kind = .busy }
        let known = ["authorization_pending", "slow_down", "expired_token"]
        // What OAuth has no code for says no more than that the service is in trouble.
        if failure.kind == .busy, failure.code.map({ !known.contains($0) }) ?? false { failure.code = nil }
        return failure
    }
}

extension TokenResponse {
    /// Reads the answer of CreateToken; its ID token is not in use at Amazon, and left out.
    init(identityCenter object: JSONObject) throws(Problem) {
        guard let accessToken = try TokenResponse.token("accessToken", in: object) else {
            throw Problem(message: "the answer has no accessToken")
        }
        self.accessToken = accessToken
        tokenType = "Bearer"
        try setType(object["tokenType"]?.string ?? tokenType)
        refreshToken = try RenewalMembers.identityCenter.refreshToken(in: object)
        setLifetime(object["expiresIn"])
    }
}

extension RenewalMembers {
    /// IAM Identity Center does not say how long a refresh token lives.
    static let identityCenter = RenewalMembers(token: "refreshToken", lifetimes: [])
}
