// SPDX-License-Identifier: MIT

import OAuthClient

/// Kind `aws_sso`.
extension TableReader {
    /// IAM Identity Center; `nil` with the reasons in the problem list.
    mutating func identityCenter() -> IdentityCenter? {
        let start = requiredURL(
            "start_url",
            "the address of the access portal, such as \"https://example.awsapps.com/start\""
        )
        let tokens = baseAddress("sso_oidc_endpoint")
        let portal = baseAddress("sso_endpoint")
        let region = awsRegion(unless: ["sso_oidc_endpoint", "sso_endpoint"])
        guard let start, let tokens = tokens ?? region.map(IdentityCenter.tokenService(in:)),
            let portal = portal ?? region.map(IdentityCenter.portal(in:))
        else { return nil }
        return IdentityCenter(startURL: start.description, tokenService: tokens, portal: portal)
    }

    /// `region`, which becomes part of host names; needed unless all of `endpoints` are written.
    mutating func awsRegion(unless endpoints: [String]) -> String? {
        guard let region = string("region") else {
            if !has("region"), !endpoints.allSatisfy({ has($0) }) {
                report("region", "is missing: the AWS region, such as \"eu-west-1\"")
            }
            return nil
        }
        guard AWSRegion.isName(region) else {
            report("region", "\"\(region)\" is not an AWS region, such as eu-west-1")
            return nil
        }
        return region
    }

    /// An address that paths are put behind, without a slash at its end.
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
