// SPDX-License-Identifier: MIT

/// IAM Identity Center of Amazon Web Services, as the configuration names it (kind `aws_sso`).
package struct IdentityCenter: Equatable, Sendable {
    /// The address of the access portal, such as `https://my-company.awsapps.com/start`.
    package var startURL: String
    /// The address of the service that registers clients and gives tokens, without a slash at the end.
    package var tokenService: String
    /// The address of the portal's service, which gives credentials, without a slash at the end.
    package var portal: String

    /// Without it there is no refresh token.
    static let scope = "sso:account:access"

    package init(startURL: String, tokenService: String, portal: String) {
        self.startURL = startURL
        self.tokenService = tokenService
        self.portal = portal
    }

    /// Where clients are registered and tokens given in `region`.
    package static func tokenService(in region: String) -> String { AWSRegion.origin(of: "oidc", in: region) }

    /// Where the portal's service is in `region`.
    package static func portal(in region: String) -> String { AWSRegion.origin(of: "portal.sso", in: region) }
}
