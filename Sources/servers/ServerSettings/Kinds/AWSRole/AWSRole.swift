// SPDX-License-Identifier: MIT

import Text

/// An AWS role whose credentials replace a token.
package struct AWSRole: Equatable, Sendable {
    /// The role in the form `arn:aws:iam::ACCOUNT:role/NAME`.
    package var arn: String
    /// The URL of the Security Token Service.
    package var endpoint: String
    /// The lifetime of the credentials, within ``durations``.
    package var duration: Duration
    /// The name shown in the logs of the account.
    package var sessionName: String

    /// The lifetimes that the service allows, if the role allows them too.
    package static let durations = Duration.seconds(900)...Duration.seconds(43_200)
    /// The default lifetime of the service.
    package static let usualDuration = Duration.seconds(3_600)

    package init(arn: String, endpoint: String, duration: Duration, sessionName: String) {
        self.arn = arn
        self.endpoint = endpoint
        self.duration = duration
        self.sessionName = sessionName
    }

    /// Returns the URL of the service in `region`.
    package static func endpoint(in region: String) -> String {
        AWSRegion.origin(of: "sts", in: region) + "/"
    }

    /// Whether the service accepts the session name as `RoleSessionName`: 2 to 64 letters, digits or
    /// characters of `_+=,.@-`.
    var hasUsableSessionName: Bool {
        (2...64).contains(sessionName.utf8.count)
            && sessionName.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || "_+=,.@-".utf8.contains($0)
            }
    }

    /// Whether ``arn`` names a role.
    var namesRole: Bool {
        let parts = arn.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 6 && parts[0] == "arn" && parts[2] == "iam" && parts[5].hasPrefix("role/")
            && arn.utf8.allSatisfy(\.isVisibleASCII)
    }
}

extension AWSRole: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: endpoint)
    }

    package var purpose: [String]? { [arn, sessionName] }

    package var problems: [ServerProfileError] {
        var problems: [ServerProfileError] = []
        if !namesRole {
            let message = "\"\(arn)\" is not a role ARN such as \"arn:aws:iam::123456789012:role/NAME\""
            problems.append(ServerProfileError("role_arn", message))
        }
        if !hasUsableSessionName {
            let message = "must be 2 to 64 letters, digits or characters of _+=,.@-"
            problems.append(ServerProfileError("role_session_name", message))
        }
        return problems
    }

    package var secretMembers: [String] { AWSMembers.secret }
    package var harmlessMembers: [String] { AWSMembers.harmless }
}
