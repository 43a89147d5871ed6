// SPDX-License-Identifier: MIT

/// The configuration of AWS IAM Identity Center (kind `aws_sso`).
package struct IdentityCenter: Equatable, Sendable {
    /// The URL of the access portal, such as `https://my-company.awsapps.com/start`.
    package var startURL: String
    /// The URL of the service that registers clients and issues tokens, without a slash at the end.
    package var tokenService: String
    /// The URL of the portal service, which issues credentials, without a slash at the end.
    package var portal: String

    /// The scope that is required to get a refresh token.
    package static let scope = "sso:account:access"

    package init(startURL: String, tokenService: String, portal: String) {
        self.startURL = startURL
        self.tokenService = tokenService
        self.portal = portal
    }

    /// Returns the URL of the service that registers clients and issues tokens in `region`.
    package static func tokenService(in region: String) -> String { AWSRegion.origin(of: "oidc", in: region) }

    /// Returns the URL of the portal service in `region`.
    package static func portal(in region: String) -> String { AWSRegion.origin(of: "portal.sso", in: region) }
}

extension IdentityCenter: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: tokenService, pool: startURL)
    }

    package var purpose: [String]? { [portal] }

    package var secretMembers: [String] { AWSMembers.secret }
    package var harmlessMembers: [String] { AWSMembers.harmless }
}
