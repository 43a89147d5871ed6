// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What a protected resource publishes about itself, checked (RFC 9728 §2).
struct ResourceMetadata: Equatable, Sendable {
    /// What it calls itself, or `nil` if it publishes no metadata; goes with every request for a token (RFC 8707 §2).
    var resource: String?
    /// The issuers of the authorization servers whose tokens it takes, in its order; at least one.
    var servers: [String]
    /// `nil`: not said.
    var scopes: [String]?

    /// Why a document is not used.
    struct Problem: Error, Equatable {
        var message: String
    }

    /// Reads a document that must be about the resource at `address`.
    ///
    /// RFC 9728 §3.3 wants the very address. Resources name one that stands for everything below it, so a parent by
    /// whole segments of the path will do: it is of the same origin, and nothing it could say goes beyond that.
    init(_ document: JSONObject, of address: EndpointURL) throws(Problem) {
        guard let resource = document["resource"]?.string else {
            throw Problem(message: "the document names no resource")
        }
        guard let named = try? EndpointURL(resource), named.covers(address) else {
            throw Problem(
                message:
                    "the document is of \(ServerText.cleaned(resource, limit: 200)), not of \(address.description)"
            )
        }
        self.resource = resource
        guard let servers = document["authorization_servers"]?.array else {
            throw Problem(message: "the document names no authorization_servers")
        }
        self.servers = servers.compactMap(\.string)
        guard !self.servers.isEmpty, self.servers.count == servers.count else {
            throw Problem(message: "its authorization_servers are not a list of issuers")
        }
        scopes = document["scopes_supported"]?.array?.compactMap(\.string)
    }

    /// A resource without metadata whose origin is the issuer.
    init(ownServer issuer: String) {
        servers = [issuer]
    }

    func names(_ issuer: String) -> Bool {
        servers.contains { IssuerName.areSame($0, issuer) }
    }
}

extension EndpointURL {
    /// Whether `other` is this address or one below it: same origin, and this path's segments at its beginning.
    func covers(_ other: EndpointURL) -> Bool {
        guard origin == other.origin, query == nil || query == other.query,
            let own = PathSegments(path), let others = PathSegments(other.path)
        else { return false }
        return own.cover(others)
    }
}

/// The scopes that a server's text asks for, kept to what goes into an address.
enum NamedScopes {
    /// Words, and bytes of all together: more than any server has, and no more than every server reads.
    private static let mostWords = 64
    private static let mostBytes = 2_000

    /// The words without repetitions, in their order; `nil` if one of them is no scope (RFC 6749 §3.3), or if there are
    /// too many.
    static func checked(_ words: [String]) -> [String]? {
        guard words.count <= mostWords, words.reduce(0, { $0 + $1.utf8.count + 1 }) <= mostBytes,
            words.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isNQChar) })
        else { return nil }
        var seen: Set<ByteText> = []
        return words.filter { seen.insert($0.bytewise).inserted }
    }

    /// ``checked(_:)`` of words with blanks between them.
    static func checked(_ text: String) -> [String]? {
        guard text.utf8.count <= mostBytes else { return nil }
        return checked(text.bytewise.split(on: " ").map(String.init))
    }
}
