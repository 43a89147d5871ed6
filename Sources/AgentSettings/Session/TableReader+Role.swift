// SPDX-License-Identifier: MIT

import OAuthClient
import Text
import TokenCore

/// Kind `aws_role`.
extension TableReader {
    /// The role; `nil` with the reasons in the problem list.
    mutating func role() -> AWSRole? {
        let arn = required("role_arn", "the role, as \"arn:aws:iam::123456789012:role/NAME\"")
        let endpoint = endpoint()
        let sessionName = string("role_session_name")
        let duration = duration("duration", in: AWSRole.durations, "15m to 12h")
        guard let arn, let endpoint else { return nil }
        return AWSRole(
            arn: arn,
            endpoint: endpoint,
            duration: duration ?? AWSRole.usualDuration,
            sessionName: sessionName ?? "tokenagent"
        )
    }

    private mutating func endpoint() -> String? {
        let region = string("region")
        let written = url("sts_endpoint")
        guard !has("sts_endpoint") else { return written?.description }
        guard let region else {
            if !has("region") { report("region", "is missing: the AWS region, such as \"eu-west-1\"") }
            return nil
        }
        guard region.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") })
        else {
            report("region", "\"\(region)\" is not an AWS region, such as eu-west-1")
            return nil
        }
        return AWSRole.endpoint(in: region)
    }

    /// The session that the role is given for, and which of its tokens is sent.
    mutating func roleSources() -> ConfiguredSources {
        if !has("from") { report("from", "is missing: the session whose token the role is given for") }
        var sources = sources()
        sources.usesIDToken = word("subject_token_type", RoleToken.self) != .accessToken
        return sources
    }
}

/// `subject_token_type` of a role: the ID token unless written.
private enum RoleToken: String, CaseIterable {
    case idToken = "id_token"
    case accessToken = "access_token"
}
