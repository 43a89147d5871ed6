// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// The portal's service of IAM Identity Center, where an access token becomes the credentials of a role.
///
/// Source: AWS, "IAM Identity Center Portal API Reference": GetRoleCredentials, Logout.
struct AccessPortal: Sendable {
    /// Without a slash at the end.
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies

    /// The credentials of `role`, without their fingerprint.
    ///
    /// - Throws: `sourceRefused` if the portal does not take `token`, `misconfigured` if the person has no such role.
    func credentials(
        of role: AssignedRole,
        for token: SecretID?
    ) async throws(RefreshFailure) -> GrantedTokens {
        let query = "role_name=\(PercentCoding.encoded(role.name))&account_id=\(role.account)"
        let url = try url("/federation/credentials?\(query)")
        let requestedAt = tools.timekeeper.now
        var reply = try await tools.send(try request(to: url, showing: token))
        defer { reply.body.wipe() }
        guard reply.status == 200 else { throw failure(reply, from: url, asking: role) }
        let members = reply.jsonObject?["roleCredentials"]?.object
        guard let members, let end = members["expiration"]?.integer,
            let keyID = members["accessKeyId"]?.string, let secret = members["secretAccessKey"]?.string,
            let sessionToken = members["sessionToken"]?.string,
            var credentials = RoleCredentials(
                keyID: keyID,
                secret: secret,
                sessionToken: sessionToken,
                // The portal counts milliseconds.
                expiration: ZonedTime.text(of: WallTime(secondsSince1970: end / 1000))
            )
        else {
            let message = "\(url.hostAndPort): the answer has no credentials of a role"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        defer { credentials.wipe() }
        // Both times are the server's own, so a clock that is wrong here does no harm.
        let life = credentials.expiration - (reply.serverTime ?? tools.timekeeper.wallTime)
        guard life > .zero else {
            let message = "\(url.hostAndPort): the credentials in the answer have ended already"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        return GrantedTokens(
            accessToken: try tools.memory.sealing(credentials.members[...], as: .accessToken),
            tokenType: RoleTokens.tokenType,
            lifetime: min(life, AWSRole.durations.upperBound),
            requestedAt: requestedAt
        )
    }

    /// Ends the login that `token` is of.
    ///
    /// - Throws: `sourceRefused` if the portal does not take it.
    func logOut(_ token: SecretID) async throws(RefreshFailure) {
        let url = try url("/logout")
        var request = try request(to: url, showing: token)
        request.json = try JSONRequestBody { _ in }
        let reply = try await tools.send(request)
        guard (200..<300).contains(reply.status) else { throw failure(reply, from: url) }
    }

    private func url(_ path: String) throws(RefreshFailure) -> EndpointURL {
        try EndpointURL(address + path, of: "sso_endpoint")
    }

    private func request(
        to url: EndpointURL,
        showing token: SecretID?
    ) throws(RefreshFailure) -> OutgoingRequest {
        guard let token else { throw .noTokenForRole }
        var request = OutgoingRequest(url: url, trust: trust)
        request.headers = [
            ("accept", "application/json"),
            (AccessPortal.tokenHeader, try tools.memory.text(of: token)),
        ]
        return request
    }

    /// What carries the access token.
    static let tokenHeader = "x-amz-sso_bearer_token"

    /// What an answer without what was asked for means; what a proxy may have written is temporary.
    private func failure(
        _ reply: ServerResponse,
        from url: EndpointURL,
        asking role: AssignedRole? = nil
    ) -> RefreshFailure {
        let answer = reply.refused(object: nil, at: tools.timekeeper.wallTime)
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        guard let exception = reply.awsException else {
            // Without Amazon's word for it nothing is refused for good.
            if failure.kind == .unexplained { failure.kind = .busy }
            return failure
        }
        failure.code = exception
        let words = [exception, reply.jsonObject?["message"]?.string].compactMap(\.self)
        var message = "\(url.hostAndPort) answered \(reply.status) "
        message += FailureClassification.quoted(words.joined(separator: ": "), at: reply.status)
        switch (reply.status, exception) {
        case (401, "UnauthorizedException"): failure.kind = .sourceRefused
        case (400, "InvalidRequestException"), (403, "ForbiddenException"),
            (404, "ResourceNotFoundException"):
            failure.kind = .misconfigured
            failure.leastPause = nil
            guard let role else { break }
            message = "there is no role \(role.name) of account \(role.account) for this login: \(message)"
            failure.remedy = "check account and role, or have the role assigned"
        default: if failure.kind == .unexplained { failure.kind = .busy }
        }
        failure.message = ServerText.cleaned(message)
        return failure
    }
}

extension RefreshFailure {
    /// What a role is asked for with is not there.
    static let noTokenForRole = RefreshFailure(
        kind: .sourceUnavailable,
        message: "there is no token for the role at this moment"
    )
}
