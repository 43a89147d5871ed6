// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The token service of IAM Identity Center: OAuth in JSON, with names in camel case.
///
/// Source: AWS, "IAM Identity Center OIDC API Reference": RegisterClient, StartDeviceAuthorization,
/// CreateToken.
struct IdentityCenterTokenService: Sendable {
    /// The URL of the service, without a slash at the end.
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies

    /// Posts the object that `members` writes.
    ///
    /// `isRefresh` marks a request that refreshes tokens.
    ///
    /// - Returns: The object in the response, and the time just before the request was sent.
    /// - Throws: The classified rejection, with OAuth's spelling of the code.
    func post(
        _ path: String,
        isRefresh: Bool = false,
        _ members: (JSONRequestBody.MemberWriter) throws(RefreshFailure) -> Void
    ) async throws(RefreshFailure) -> (object: JSONObject, requestedAt: Instant) {
        var request = OutgoingRequest(url: try url(path), trust: trust)
        request.headers = [("accept", "application/json")]
        request.json = try JSONRequestBody(members)
        let requestedAt = tools.timekeeper.now
        let reply = try await tools.send(request)
        guard reply.status == 200, let object = reply.jsonObject, ReportedOAuthError(object) == nil else {
            throw failure(reply, from: request.url, isRefresh: isRefresh)
        }
        return (object, requestedAt)
    }

    /// Returns the URL of `path`, such as `/token`.
    func url(_ path: String) throws(RefreshFailure) -> EndpointURL {
        try EndpointURL(address + path, of: "sso_oidc_endpoint")
    }

    private func failure(_ reply: ServerResponse, from url: EndpointURL, isRefresh: Bool) -> RefreshFailure {
        var answer = reply.refused(object: reply.jsonObject, at: tools.timekeeper.wallTime)
        answer.isRefresh = isRefresh
        guard answer.error == nil, let exception = reply.awsException else {
            return FailureClassification.classify(answer, from: url.hostAndPort)
        }
        // Some rejections name the error only in the header.
        let object = reply.jsonObject
        let description = (object?["message"] ?? object?["Message"])?.string
        answer.error = ReportedOAuthError(exception: exception, description: description)
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        if failure.kind == .unexplained, AWSErrorNames.isTemporary(exception) { failure.kind = .busy }
        let known = ["authorization_pending", "slow_down", "expired_token"]
        // A code unknown to OAuth only says that the service cannot serve now.
        if failure.kind == .busy, failure.code.map({ !known.contains($0) }) ?? false { failure.code = nil }
        return failure
    }
}
