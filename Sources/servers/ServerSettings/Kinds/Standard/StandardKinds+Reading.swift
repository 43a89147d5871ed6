// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The keys of the kinds `oidc` and `oauth2`.
extension TableReader {
    mutating func issuer() -> ServerProfile.Kind? {
        let metadata = url("metadata_url")?.description
        if !has("issuer") {
            report("issuer", "required: URL of the authorization server")
        }
        return issuerName().map { .oidc(issuer: $0, metadata: metadata) }
    }

    /// Reads the issuer: a URL, or any name if `metadata_url` is set.
    private mutating func issuerName() -> String? {
        guard let name = string("issuer") else { return nil }
        // Errors in a template are reported with the other errors of the server.
        let isName = has("metadata_url") || name.utf8.contains(UInt8(ascii: "{"))
        return isName ? name : url(name, of: "issuer")?.description
    }

    /// Reads a protected resource, whose metadata name the issuer.
    mutating func resource() -> ProtectedResource? {
        let address = url("resource")
        let metadata = url("metadata_url")?.description
        let issuer = issuerName()
        if metadata != nil, !has("issuer") {
            report("issuer", "required: the issuer that metadata_url describes")
        }
        if has("resources") {
            report("resources", "cannot be combined with resource, which is always requested")
        }
        return address.map {
            ProtectedResource(address: $0.description, issuer: issuer, metadata: metadata)
        }
    }

    /// Reports `resource` in a session of another kind than `oidc`.
    mutating func refuseResource(isStandard: Bool) {
        _ = value("resource")
        let message = "requires kind \"oidc\", where it selects the server"
        guard isStandard else { return report("resource", message) }
        report("resource", message, .set("resources to request tokens for resources"))
    }

    mutating func fixedEndpoints() -> FixedEndpoints? {
        let issuer = url("issuer")
        var written = configuredEndpoints()
        if !has("token_endpoint") {
            if has("service_account_file") {
                written.token = AssertionGrant.serviceAccountEndpoint
            } else {
                report(
                    "token_endpoint",
                    "required: kind \"oauth2\" has no discovery"
                )
            }
        }
        return written.token.map {
            FixedEndpoints(
                token: $0,
                authorization: written.authorization,
                deviceAuthorization: written.deviceAuthorization,
                revocation: written.revocation,
                endSession: written.endSession,
                keySet: written.keySet,
                issuer: issuer?.description
            )
        }
    }

    /// Reads configured endpoints, which are all there are or replace those of the issuer's metadata.
    package mutating func configuredEndpoints() -> EndpointOverrides {
        EndpointOverrides(
            token: url("token_endpoint")?.description,
            authorization: url("authorization_endpoint")?.description,
            deviceAuthorization: url("device_authorization_endpoint")?.description,
            revocation: url("revocation_endpoint")?.description,
            endSession: url("end_session_endpoint")?.description,
            keySet: url("jwks_uri")?.description
        )
    }
}
