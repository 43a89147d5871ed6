// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A server of kind `aws_role`: the Security Token Service.
///
/// The service issues the credentials of a role for another session's token (`AssumeRoleWithWebIdentity`).
struct AWSRoleServer: RoleServer {
    let profile: ServerProfile
    let role: AWSRole
    let tools: ServerDependencies

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        guard let subject = request.sources.subject else { throw .noTokenForRole }
        let url = try EndpointURL(role.endpoint, of: "sts_endpoint")
        let form = FormBody([
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role.arn),
            ("RoleSessionName", role.sessionName), ("DurationSeconds", "\(role.duration.wholeSeconds)"),
        ])
        try form.add("WebIdentityToken", subject, from: tools.memory)
        var outgoing = OutgoingRequest(url: url, form: form, trust: profile.trust)
        outgoing.headers = [("accept", "text/xml")]
        let requestedAt = tools.timekeeper.now
        var reply = try await tools.send(outgoing)
        defer { reply.body.wipe() }
        guard reply.status == 200 else {
            throw STSResponse.failure(reply, of: url, tools.timekeeper.wallTime)
        }
        return try granted(try STSResponse.credentials(in: reply.body, of: url), requestedAt)
    }

    private func granted(
        _ credentials: RoleCredentials,
        _ requestedAt: Instant
    ) throws(RefreshFailure) -> GrantedTokens {
        var credentials = credentials
        defer { credentials.wipe() }
        let left = credentials.expiration - tools.timekeeper.wallTime
        return GrantedTokens(
            accessToken: try tools.memory.sealing(credentials.members[...], as: .accessToken),
            tokenType: AWSRoleTokens.tokenType,
            // If this machine's clock is off, assume the requested lifetime.
            lifetime: left > .zero ? min(left, role.duration) : role.duration,
            requestedAt: requestedAt
        )
    }
}
