// SPDX-License-Identifier: MIT

/// The keys of kind `aws_sso`.
extension TableReader {
    /// Reads the address of IAM Identity Center, or returns `nil` with the reasons in the problem list.
    mutating func identityCenter() -> IdentityCenter? {
        let start = requiredURL(
            "start_url",
            "URL of the access portal, such as \"https://example.awsapps.com/start\""
        )
        let tokens = baseAddress("sso_oidc_endpoint")
        let portal = baseAddress("sso_endpoint")
        let region = awsRegion(unless: ["sso_oidc_endpoint", "sso_endpoint"])
        guard let start, let tokens = tokens ?? region.map(IdentityCenter.tokenService(in:)),
            let portal = portal ?? region.map(IdentityCenter.portal(in:))
        else { return nil }
        return IdentityCenter(startURL: start.description, tokenService: tokens, portal: portal)
    }
}
