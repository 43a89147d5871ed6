// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// One look at what a protected resource says about its authorization servers (RFC 9728 §3, §5).
///
/// No secret is sent, and no redirect is followed: an answer that is one is no answer.
struct ResourceDiscovery: Sendable {
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies
    /// Longest wait for each answer, where that is to be shorter than usual.
    var limit: Duration?
    /// Whether a resource without metadata may be its own authorization server, as in version 2025-03-26 of the Model
    /// Context Protocol.
    var allowsOwnServer = false

    /// Most addresses of metadata that are read from a refusal.
    private static let maximumNamed = 4

    struct Found: Equatable, Sendable {
        var metadata: ResourceMetadata
        /// What the refusal asks for, which counts more than what the metadata lists (RFC 6750 §3).
        var challengedScope: String?
        /// The resource is on the public Internet: nothing that it names may be anywhere else.
        var isPublic: Bool
    }

    /// Asks the resource, then the place that its refusal names, else the two well-known ones.
    ///
    /// - Returns: what the first of them says that has something.
    /// - Throws: `misconfigured` if none has, or if what it says is not about this resource.
    func run() async throws(RefreshFailure) -> Found {
        let url = try EndpointURL(address, of: "resource")
        var request = OutgoingRequest(url: url, trust: trust)
        request.limit = limit
        // Some resources answer a GET with a stream of events, which has no end.
        request.readsBody = false
        let reply = try await tools.send(request)
        let challenges = reply.status == 401 ? reply.challenges : nil
        return Found(
            metadata: try await metadata(
                of: url,
                named: challenges?.tokenValues(of: "resource_metadata") ?? [],
                isPublic: !reply.isInternal
            ),
            challengedScope: challenges?.tokenValues(of: "scope").first,
            isPublic: !reply.isInternal
        )
    }

    /// The metadata at the first address that a refusal names, or at a later one if that is of no use; without an address
    /// at a well-known one.
    private func metadata(
        of url: EndpointURL,
        named: [String],
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata {
        let places =
            named.isEmpty
            ? WellKnownURL.protectedResource(url) : Array(named.prefix(ResourceDiscovery.maximumNamed))
        do throws(JSONFetch.Miss) {
            return try await first(of: places, isPublic: isPublic) { object, place throws(RefreshFailure) in
                try ResourceDiscovery.metadata(object, from: place, of: url)
            }
        } catch {
            // A document about another resource is an error, not a missing document.
            if named.isEmpty, allowsOwnServer, error.sign < .wrongDocument,
                let own = try await ownServer(of: url, isPublic: isPublic)
            {
                return own
            }
            var failure = error.failure
            guard error.sign < .wrongDocument, failure.kind == .misconfigured else { throw failure }
            failure.message = ServerText.cleaned(
                "the resource does not say whose tokens it takes: \(failure.message)"
            )
            failure.remedy =
                "set issuer, and resources = [\"\(address)\"] in place of resource, in the session's table"
            throw failure
        }
    }

    /// The origin of the resource, if it publishes that it is an authorization server (Model Context Protocol 2025-03-26,
    /// Authorization, Server Metadata Discovery).
    private func ownServer(
        of url: EndpointURL,
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata? {
        let origin = try EndpointURL(url.origin, of: "resource")
        let places = [WellKnownURL.authorizationServer(origin)]
        do throws(JSONFetch.Miss) {
            let issuer = try await first(of: places, isPublic: isPublic) { object, _ throws(RefreshFailure) in
                object["issuer"]?.string
            }
            return issuer.flatMap {
                IssuerName.areSame($0, url.origin) ? ResourceMetadata(ownServer: $0) : nil
            }
        } catch {
            guard error.sign != .outage else { throw error.failure }
            return nil
        }
    }

    /// What `read` makes of the first document at one of `places` that it accepts.
    private func first<Value>(
        of places: [String],
        isPublic: Bool,
        _ read: (JSONObject, EndpointURL) throws(RefreshFailure) -> Value
    ) async throws(JSONFetch.Miss) -> Value {
        try await JSONFetch.first(
            of: places,
            trust: trust,
            publicAddressOnly: isPublic,
            limit: limit,
            tools: tools
        ) { object, _, place throws(RefreshFailure) in
            try read(object, place)
        }.0
    }

    private static func metadata(
        _ object: JSONObject,
        from place: EndpointURL,
        of url: EndpointURL
    ) throws(RefreshFailure) -> ResourceMetadata {
        do throws(ResourceMetadata.Problem) {
            return try ResourceMetadata(object, of: url)
        } catch {
            let message = ServerText.cleaned("\(place.description): \(error.message)")
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
    }
}

extension Challenges {
    /// The values of a parameter in challenges for tokens, for any bearer or bound to a key (RFC 6750 §3, RFC 9449 §7.1).
    fileprivate func tokenValues(of name: String) -> [String] {
        values(of: name, scheme: "bearer") + values(of: name, scheme: "dpop")
    }
}

extension ServerResponse {
    /// What the fields `WWW-Authenticate` ask for.
    var challenges: Challenges {
        let fields = headers.filter { $0.name == "www-authenticate" }.map(\.value)
        return Challenges(fields.joined(separator: ", "))
    }
}
