// SPDX-License-Identifier: MIT

import TokenCore

/// A role that IAM Identity Center has assigned to the user of another session, from the configuration (kind
/// `aws_role`).
package struct PortalRole: Equatable, Sendable {
    package var role: AssignedAWSRole
    /// The URL of the portal service, which the other session names, or `nil` until it is resolved.
    package var portal: String?

    package init(_ role: AssignedAWSRole, portal: String? = nil) {
        self.role = role
        self.portal = portal
    }
}

extension PortalRole: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: portal ?? "")
    }

    package var purpose: [String]? { [role.description] }

    package var secretMembers: [String] { AWSMembers.secret }
    package var harmlessMembers: [String] { AWSMembers.harmless }
}
