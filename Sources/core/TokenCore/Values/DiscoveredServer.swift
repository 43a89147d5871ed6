// SPDX-License-Identifier: MIT

/// Server data that the configuration leaves open and a login has discovered.
///
/// It is stored with the login. Refreshes and the logout need the same, whatever the server's metadata says
/// later.
package struct DiscoveredServer: Hashable, Sendable {
    /// The issuer identifier, spelled exactly as it was found.
    package var issuer: String
    /// The protected resource's own identifier, sent with every token request (RFC 8707).
    package var resource: String?
    /// Whether resource and server are on the public Internet, so that no private network address is
    /// contacted.
    package var isPublic: Bool
    /// The client ID that the server assigned to the agent, if it registered the client (RFC 7591).
    package var client: String?

    package init(issuer: String, resource: String? = nil, isPublic: Bool = false, client: String? = nil) {
        self.issuer = issuer
        self.resource = resource
        self.isPublic = isPublic
        self.client = client
    }

    /// A copy without the client ID.
    package var withoutClient: DiscoveredServer {
        DiscoveredServer(issuer: issuer, resource: resource, isPublic: isPublic)
    }

    // Compare bytes: strings that Unicode calls equivalent are different names.
    package static func == (left: DiscoveredServer, right: DiscoveredServer) -> Bool {
        left.isPublic == right.isPublic && left.texts.elementsEqual(right.texts, by: same)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(isPublic)
        hasher.combine(texts)
    }

    private var texts: [String?] { [issuer, resource, client] }

    private static func same(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.utf8.elementsEqual(right.utf8)
    }
}

/// The data of the current or latest login that a new one may need.
package struct PreviousLogin: Equatable, Sendable {
    /// The granted scopes.
    package var scope: [String]
    /// The `sub` of its ID token.
    package var subject: String?
    package var server: DiscoveredServer?

    package init(scope: [String], subject: String? = nil, server: DiscoveredServer? = nil) {
        self.scope = scope
        self.subject = subject
        self.server = server
    }
}
