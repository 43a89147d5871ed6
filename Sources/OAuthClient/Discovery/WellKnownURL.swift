// SPDX-License-Identifier: MIT

/// Addresses of metadata documents.
enum WellKnownURL {
    /// `issuer/.well-known/openid-configuration`, appended (OIDC Discovery §4.1).
    static func openID(_ issuer: EndpointURL) -> String {
        issuer.origin + trimmed(issuer.path) + "/.well-known/openid-configuration"
    }

    /// `/.well-known/oauth-authorization-server`, inserted before the path (RFC 8414 §3.1).
    static func authorizationServer(_ issuer: EndpointURL) -> String {
        issuer.origin + "/.well-known/oauth-authorization-server" + trimmed(issuer.path)
    }

    /// Both specifications drop a terminating slash first.
    private static func trimmed(_ path: String) -> String {
        path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
