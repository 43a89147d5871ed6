// SPDX-License-Identifier: MIT

import TokenCore

/// The keys of kind `aws_role`.
extension TableReader {
    /// Reads the service that issues the role's credentials, or returns `nil` with the reasons in the problem
    /// list.
    mutating func awsRole() -> ServerProfile.Kind? {
        guard has("account_id") || has("role_name") else {
            return assumedRole().map { .awsRole($0) }
        }
        return portalRole().map { .portalRole($0) }
    }

    /// Reads a role assumed through the AWS Security Token Service.
    private mutating func assumedRole() -> AWSRole? {
        let arn = required(
            "role_arn",
            "role as \"arn:aws:iam::123456789012:role/NAME\", or account_id and role_name"
        )
        let written = url("sts_endpoint")?.description
        let region = awsRegion(unless: ["sts_endpoint"])
        let sessionName = string("role_session_name")
        let duration = duration("duration", in: AWSRole.durations, "15m to 12h")
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
        for key in others where value(key) != nil {
            report(key, "cannot be combined with account_id and role_name")
        }
        let account = required("account_id", "number of the account that assigns role_name")
        let name = required("role_name", "name of the role in account_id")
        guard let account, let name else { return nil }
        if let role = AssignedAWSRole(account: account, name: name) { return PortalRole(role) }
        if !AssignedAWSRole.isAccount(account) {
            report("account_id", "must be the twelve digits of an account, such as \"123456789012\"")
        }
        if !AssignedAWSRole.isName(name) {
            report("role_name", "must be 1 to 64 letters, digits or characters of _+=,.@-")
        }
        return nil
    }
}
