// SPDX-License-Identifier: MIT

import ServerSettings

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

    /// Reads `region`, which becomes part of host names and is required unless all of `endpoints` are set.
    mutating func awsRegion(unless endpoints: [String]) -> String? {
        guard let region = string("region") else {
            if !has("region"), !endpoints.allSatisfy({ has($0) }) {
                report("region", "required: AWS region, such as \"eu-west-1\"")
            }
            return nil
        }
        guard AWSRegion.isName(region) else {
            report("region", "\"\(region)\" is not an AWS region, such as eu-west-1")
            return nil
        }
        return region
    }

    /// Reads a URL to which paths are appended, and removes a trailing slash.
    mutating func baseAddress(_ key: String) -> String? {
        guard let url = url(key) else { return nil }
        guard url.query == nil else {
            report(key, "must not contain a query (?)")
            return nil
        }
        let address = url.description
        return address.utf8.last == UInt8(ascii: "/") ? String(address.dropLast()) : address
    }
}
