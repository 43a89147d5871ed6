// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The metadata that a protected resource publishes, validated (RFC 9728 §2).
struct ResourceMetadata: Equatable, Sendable {
    /// The resource's identifier, sent with every token request (RFC 8707 §2), or `nil` if the resource
    /// publishes no metadata.
    var resource: String?
    /// The issuers of the accepted authorization servers, at least one, in the resource's order.
    var servers: [String]
    /// The scopes, or `nil` if not published.
    var scopes: [String]?

    /// The reason a document is not used.
    struct Problem: Error, Equatable {
        var message: String
    }

    /// Validates a document that must be about the resource at `address`.
    ///
    /// RFC 9728 §3.3 requires the exact URL. Resources also name one that covers everything below it, so a
    /// parent by whole path segments is accepted: it has the same origin, and could not declare anything
    /// beyond that.
    init(_ document: JSONObject, of address: EndpointURL) throws(Problem) {
        guard let resource = document["resource"]?.string else {
            throw Problem(message: "the resource metadata has no member resource")
        }
        guard let named = try? EndpointURL(resource), named.covers(address) else {
            let other = ServerText.cleaned(resource, limit: 200)
            throw Problem(message: "the resource metadata is for \(other), not \(address.description)")
        }
        self.resource = resource
        guard let servers = document["authorization_servers"]?.array else {
            throw Problem(message: "the resource metadata has no authorization_servers")
        }
        self.servers = servers.compactMap(\.string)
        guard !self.servers.isEmpty, self.servers.count == servers.count else {
            throw Problem(message: "authorization_servers in the resource metadata is not a list of issuers")
        }
        scopes = document["scopes_supported"]?.array?.compactMap(\.string)
    }

    /// Creates metadata for a resource without a document whose origin is the issuer.
    init(ownServer issuer: String) {
        servers = [issuer]
    }

    func names(_ issuer: String) -> Bool {
        servers.contains { IssuerNameRules.areSame($0, issuer) }
    }
}

extension EndpointURL {
    /// Returns whether `other` is this URL or below it: same origin, and this path's segments at its
    /// beginning.
    func covers(_ other: EndpointURL) -> Bool {
        guard origin == other.origin, query == nil || query == other.query,
            let own = PathSegments(path), let others = PathSegments(other.path)
        else { return false }
        return own.cover(others)
    }
}
