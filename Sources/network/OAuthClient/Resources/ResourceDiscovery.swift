// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One discovery of the authorization servers of a protected resource (RFC 9728 §3, §5).
///
/// No secret is sent. Redirects are not followed and count as no response.
struct ResourceDiscovery: Sendable {
    var address: String
    var trust: ServerTrust
    var tools: ServerDependencies
    /// The maximum wait for each response, or `nil` for the usual one.
    var limit: Duration?
    /// Whether a resource without metadata may be its own authorization server, as in MCP version 2025-03-26.
    var allowsOwnServer = false

    /// The maximum number of metadata URLs read from a rejection.
    private static let maximumNamed = 4

    struct Found: Equatable, Sendable {
        var metadata: ResourceMetadata
        /// The scope that the rejection requires, which takes precedence over the scopes in the metadata
        /// (RFC 6750 §3).
        var challengedScope: String?
        /// Whether the resource is on the public Internet.
        ///
        /// Then nothing that it names may be anywhere else.
        var isPublic: Bool
    }

    /// Asks the resource, and then the URLs that its rejection names and the two well-known ones.
    ///
    /// - Returns: The contents of the first usable document.
    /// - Throws: `misconfigured` if there is none, or if it is about another resource.
    func run() async throws(RefreshFailure) -> Found {
        let url = try EndpointURL(address, of: "resource")
        var request = OutgoingRequest(url: url, trust: trust)
        request.limit = limit
        // Some resources respond to a GET with an endless stream of events.
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

    /// Fetches the metadata from the first usable URL of a rejection, or else from a well-known URL.
    ///
    /// Servers behind a gateway name URLs that lead nowhere.
    private func metadata(
        of url: EndpointURL,
        named: [String],
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata {
        let places = Array(named.prefix(ResourceDiscovery.maximumNamed)) + WellKnownURL.protectedResource(url)
        do throws(JSONFetch.FetchError) {
            return try await first(of: places, isPublic: isPublic) { object, place throws(RefreshFailure) in
                try ResourceDiscovery.metadata(object, from: place, of: url)
            }
        } catch {
            // A document about another resource is an error, not a missing document.
            if named.isEmpty, allowsOwnServer, error.kind < .wrongDocument,
                let own = try await ownServer(of: url, isPublic: isPublic)
            {
                return own
            }
            var failure = error.failure
            guard error.kind < .wrongDocument, failure.kind == .misconfigured else { throw failure }
            failure.message = ServerText.cleaned(
                "the resource names no issuer: \(failure.message)"
            )
            failure.remedy = .set("issuer, and resources = [\"\(address)\"] in place of resource")
            throw failure
        }
    }

    /// Returns metadata with the origin of the resource if it publishes that it is an authorization server.
    ///
    /// See Model Context Protocol 2025-03-26, Authorization, Server Metadata Discovery.
    private func ownServer(
        of url: EndpointURL,
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata? {
        let origin = try EndpointURL(url.origin, of: "resource")
        let places = [WellKnownURL.authorizationServer(origin)]
        do throws(JSONFetch.FetchError) {
            let issuer = try await first(of: places, isPublic: isPublic) { object, _ throws(RefreshFailure) in
                object["issuer"]?.string
            }
            return issuer.flatMap {
                IssuerNameRules.areSame($0, url.origin) ? ResourceMetadata(ownServer: $0) : nil
            }
        } catch {
            guard error.kind != .outage else { throw error.failure }
            return nil
        }
    }

    /// Returns the result of `read` for the first document at one of `places` that it accepts.
    private func first<Value>(
        of places: [String],
        isPublic: Bool,
        _ read: (JSONObject, EndpointURL) throws(RefreshFailure) -> Value
    ) async throws(JSONFetch.FetchError) -> Value {
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
    /// Returns the values of a parameter in challenges for bearer or key-bound tokens (RFC 6750 §3, RFC 9449
    /// §7.1).
    fileprivate func tokenValues(of name: String) -> [String] {
        values(of: name, scheme: "bearer") + values(of: name, scheme: "dpop")
    }
}

extension ServerResponse {
    /// The challenges in the fields `WWW-Authenticate`.
    var challenges: Challenges {
        let fields = headers.filter { $0.name == "www-authenticate" }.map(\.value)
        return Challenges(fields.joined(separator: ", "))
    }
}
