// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// The Security Token Service, which gives the credentials of a role for another session's token
/// (`AssumeRoleWithWebIdentity`): kind `aws_role`.
struct AWSRoleServer: SourceServer {
    let profile: ServerProfile
    let role: AWSRole
    let tools: ServerTools

    var heldSecrets: [SecretID] { [] }

    var variantRefusal: String { "a role has no other scopes or audiences" }

    /// Amazon has no way to end credentials before their time.
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        .unsupported("the credentials of a role cannot be revoked: they are good until they expire")
    }

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        guard let subject = request.sources.subject else {
            let message = "there is no token for the role at this moment"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        let url = try EndpointURL(role.endpoint, of: "sts_endpoint")
        let form = FormBody([
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role.arn),
            ("RoleSessionName", role.sessionName), ("DurationSeconds", "\(role.duration.wholeSeconds)"),
        ])
        do {
            try unsafe tools.memory.open(subject) { unsafe form.add("WebIdentityToken", secret: $0) }
        } catch {
            throw .locked
        }
        var outgoing = OutgoingRequest(url: url, form: form, trust: profile.trust)
        outgoing.headers = [("accept", "text/xml")]
        let requestedAt = tools.timekeeper.now
        var reply = try await tools.send(outgoing)
        defer { reply.body.wipe() }
        guard reply.status == 200 else { throw STSAnswer.failure(reply, of: url, tools.timekeeper.wallTime) }
        return try granted(try STSAnswer.credentials(in: reply.body, of: url), requestedAt)
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
            tokenType: RoleCredentials.tokenType,
            // Where our clock is off, they live as long as was asked for.
            lifetime: left > .zero ? min(left, role.duration) : role.duration,
            requestedAt: requestedAt
        )
    }
}

/// Credentials of a role as they are kept: the members that the AWS SDKs want of a `credential_process`, without braces.
struct RoleCredentials: Sendable {
    static let tokenType = "aws"

    private(set) var members: [UInt8]
    let expiration: WallTime

    /// - Returns: `nil` if a part is no word of visible ASCII, or the time is none.
    init?(keyID: String, secret: String, sessionToken: String, expiration: String) {
        guard let time = ZonedTime.read(expiration),
            [keyID, secret, sessionToken].allSatisfy({ $0.utf8.isVisibleWord })
        else { return nil }
        self.expiration = time
        let parts = [
            ("AccessKeyId", keyID), ("SecretAccessKey", secret), ("SessionToken", sessionToken),
            ("Expiration", expiration),
        ]
        members = []
        // So that no smaller copy is left behind by growing.
        members.reserveCapacity(parts.reduce(64) { $0 + $1.0.utf8.count + 6 * $1.1.utf8.count })
        for (name, value) in parts {
            if !members.isEmpty { members.append(UInt8(ascii: ",")) }
            members += "\"\(name)\":".utf8
            var quoted = JSONValue.string(value).serialized
            members += quoted
            quoted.wipe()
        }
    }

    mutating func wipe() { members.wipe() }
}
