// SPDX-License-Identifier: MIT

/// What the configuration leaves open about a login's server, and the login has found out.
///
/// It is kept with the login: refreshes and the logout need the same, whatever anybody says later.
package struct DiscoveredServer: Hashable, Sendable {
    /// The issuer identifier, exactly as it was spelled where it was found.
    package var issuer: String
    /// What the protected resource calls itself; goes with every request for a token (RFC 8707).
    package var resource: String?
    /// Resource and server are on the public Internet, so no address in a private network is asked.
    package var isPublic: Bool
    /// The client that the server knows us by, where it gave us the name itself (RFC 7591).
    package var client: String?

    package init(issuer: String, resource: String? = nil, isPublic: Bool = false, client: String? = nil) {
        self.issuer = issuer
        self.resource = resource
        self.isPublic = isPublic
        self.client = client
    }

    /// The server alone, whoever we are there.
    package var withoutClient: DiscoveredServer {
        DiscoveredServer(issuer: issuer, resource: resource, isPublic: isPublic)
    }

    // As bytes: what Unicode calls equivalent is another name.
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

/// What a new login may want to know of the one that stands, or stood last.
package struct CurrentLogin: Equatable, Sendable {
    /// The scopes that were granted.
    package var scope: [String]
    /// `sub` of its ID token.
    package var subject: String?
    package var server: DiscoveredServer?

    package init(scope: [String], subject: String? = nil, server: DiscoveredServer? = nil) {
        self.scope = scope
        self.subject = subject
        self.server = server
    }
}
