// SPDX-License-Identifier: MIT

/// The URLs of metadata documents.
package enum WellKnownURL {
    /// Returns `issuer/.well-known/openid-configuration`, which is appended (OIDC Discovery §4.1).
    package static func openID(_ issuer: EndpointURL) -> String {
        issuer.origin + trimmed(issuer.path) + "/.well-known/openid-configuration"
    }

    /// Returns the URL with `/.well-known/oauth-authorization-server` inserted before the path (RFC 8414
    /// §3.1).
    package static func authorizationServer(_ issuer: EndpointURL) -> String {
        issuer.origin + "/.well-known/oauth-authorization-server" + trimmed(issuer.path)
    }

    /// Returns the locations of the metadata of a server that a resource names, in the order to try them.
    package static func server(_ issuer: EndpointURL) -> [String] {
        let path = trimmed(issuer.path)
        let inserted = path.isEmpty ? [] : [issuer.origin + "/.well-known/openid-configuration" + path]
        return [authorizationServer(issuer)] + inserted + [openID(issuer)]
    }

    /// Returns the locations of a resource's own metadata: for its path, and for the whole server (RFC 9728
    /// §3.1).
    package static func protectedResource(_ resource: EndpointURL) -> [String] {
        let root = resource.origin + "/.well-known/oauth-protected-resource"
        let path = trimmed(resource.path)
        return path.isEmpty ? [root] : [root + path, root]
    }

    /// Removes a slash at the end, as both specifications require first.
    package static func trimmed(_ path: String) -> String {
        path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
