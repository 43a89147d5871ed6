// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The portal service of IAM Identity Center, which issues the credentials of a role for an access token.
///
/// Source: AWS, "IAM Identity Center Portal API Reference": GetRoleCredentials, Logout.
struct AccessPortal: Sendable {
    /// The URL of the service, without a slash at the end.
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies

    /// Fetches the credentials of `role`, without their fingerprint.
    ///
    /// - Throws: `sourceRefused` if the portal rejects `token`, `sourceUnavailable` if there is none, or
    ///   `misconfigured` if the user does not have the role.
    func credentials(
        of role: AssignedAWSRole,
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
                // The portal sends milliseconds.
                expiration: ZonedTime.text(of: WallTime(secondsSince1970: end / 1000))
            )
        else {
            let message = "\(url.hostAndPort): the response has no role credentials"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        defer { credentials.wipe() }
        // Both times are the server's own, so a wrong clock on this machine has no effect.
        let life = credentials.expiration - (reply.serverTime ?? tools.timekeeper.wallTime)
        guard life > .zero else {
            let message = "\(url.hostAndPort): the credentials in the response have expired"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        return GrantedTokens(
            accessToken: try tools.memory.sealing(credentials.members[...], as: .accessToken),
            tokenType: AWSRoleTokens.tokenType,
            lifetime: min(life, AWSRole.durations.upperBound),
            requestedAt: requestedAt
        )
    }

    /// Ends the login that issued `token`.
    ///
    /// - Throws: `sourceRefused` if the portal rejects the token.
    func logOut(_ token: SecretID) async throws(RefreshFailure) {
        let url = try url("/logout")
        var request = try request(to: url, showing: token)
        request.json = JSONRequestBody { _ in }
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
            (ExchangeSecrets.portalTokenHeader, try tools.memory.text(of: token)),
        ]
        return request
    }

    /// Classifies a response without the requested content.
    ///
    /// A response that a proxy may have written is temporary.
    private func failure(
        _ reply: ServerResponse,
        from url: EndpointURL,
        asking role: AssignedAWSRole? = nil
    ) -> RefreshFailure {
        let answer = reply.refused(object: nil, at: tools.timekeeper.wallTime)
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        guard let exception = reply.awsException else {
            // Without Amazon's name of an error, no rejection is final.
            if failure.kind == .unexplained { failure.kind = .busy }
            return failure
        }
        failure.code = exception
        let words = [exception, reply.jsonObject?["message"]?.string].compactMap(\.self)
        var message = "\(url.hostAndPort) returned \(reply.status) "
        message += FailureClassification.quoted(words.joined(separator: ": "), at: reply.status)
        switch (reply.status, exception) {
        case (401, "UnauthorizedException"): failure.kind = .sourceRefused
        case (400, "InvalidRequestException"), (403, "ForbiddenException"),
            (404, "ResourceNotFoundException"):
            failure.kind = .misconfigured
            failure.minimumDelay = nil
            guard let role else { break }
            message = "no role \(role.name) in account \(role.account) for this login: \(message)"
            failure.remedy = .set("account and role to a role that is assigned to you")
        default: if failure.kind == .unexplained { failure.kind = .busy }
        }
        failure.message = ServerText.cleaned(message)
        return failure
    }
}

extension RefreshFailure {
    /// The failure if there is no token to request the role with.
    static let noTokenForRole = RefreshFailure(
        kind: .sourceUnavailable,
        message: "no token is available to get the role"
    )
}
