// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// A reader of the sources of a session of kind `aws_role`.
struct AWSRoleReader: SessionPartReading {
    /// The session's table.
    private(set) var table: TableReader

    /// Creates a reader of `table`.
    init(_ table: TableReader) {
        self.table = table
    }

    /// Reads the service that issues the role's credentials, or returns `nil` with the reasons in the problem
    /// list.
    mutating func read() -> ServerProfile.Kind? {
        guard table.has("account_id") || table.has("role_name") else {
            return assumedRole().map { .awsRole($0) }
        }
        return portalRole().map { .portalRole($0) }
    }

    /// Reads a role assumed through the AWS Security Token Service.
    private mutating func assumedRole() -> AWSRole? {
        let arn = table.required(
            "role_arn",
            "role as \"arn:aws:iam::123456789012:role/NAME\", or account_id and role_name"
        )
        let written = table.url("sts_endpoint")?.description
        let region = table.awsRegion(unless: ["sts_endpoint"])
        let sessionName = table.string("role_session_name")
        let duration = table.duration("duration", in: AWSRole.durations, "15m to 12h")
        guard let arn, let endpoint = written ?? region.map(AWSRole.endpoint(in:)) else { return nil }
        return AWSRole(
            arn: arn,
            endpoint: endpoint,
            duration: duration ?? AWSRole.usualDuration,
            sessionName: sessionName ?? "tokenagent"
        )
    }

    /// Reads a role assigned in IAM Identity Center.
    private mutating func portalRole() -> PortalRole? {
        let others = [
            "role_arn", "region", "sts_endpoint", "role_session_name", "duration", "subject_token_type",
        ]
        for key in others where table.value(key) != nil {
            table.report(key, "cannot be combined with account_id and role_name")
        }
        let account = table.required("account_id", "number of the account that assigns role_name")
        let name = table.required("role_name", "name of the role in account_id")
        guard let account, let name else { return nil }
        if let role = AssignedAWSRole(account: account, name: name) { return PortalRole(role) }
        if !AssignedAWSRole.isAccount(account) {
            table.report("account_id", "must be the twelve digits of an account, such as \"123456789012\"")
        }
        if !AssignedAWSRole.isName(name) {
            table.report("role_name", "must be 1 to 64 letters, digits or characters of _+=,.@-")
        }
        return nil
    }

    /// Reads the source session, and which of its tokens is sent.
    mutating func sources(_ server: ServerProfile.Kind?) -> ConfiguredSources {
        if !table.has("from") {
            table.report("from", "required: session whose token is exchanged for the role")
        }
        var sources = table.sources()
        if case .portalRole = server { return sources }
        sources.usesIDToken = table.word("subject_token_type", RoleSubjectTokenType.self) != .accessToken
        return sources
    }
}

/// The values of `subject_token_type` for a role; the default is the ID token.
private enum RoleSubjectTokenType: String, CaseIterable {
    case idToken = "id_token"
    case accessToken = "access_token"
}
