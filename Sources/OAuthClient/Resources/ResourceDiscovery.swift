// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// One look at what a protected resource says about its authorization servers (RFC 9728 §3, §5).
///
/// No secret is sent, and no redirect is followed: an answer that is one is no answer.
struct ResourceDiscovery: Sendable {
    var address: String
    var trust: ServerTrust
    var tools: ServerTools
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
        let searches =
            named.isEmpty
            ? [WellKnownURL.protectedResource(url)]
            : named.prefix(ResourceDiscovery.maximumNamed).map { [$0] }
        var first: RefreshFailure?
        for places in searches {
            do throws(RefreshFailure) {
                return try await metadata(of: url, at: places, isPublic: isPublic)
            } catch {
                guard error.kind == .misconfigured else { throw error }
                first = first ?? error
            }
        }
        if named.isEmpty, allowsOwnServer, let own = try await ownServer(of: url, isPublic: isPublic) {
            return own
        }
        throw first ?? RefreshFailure(kind: .misconfigured, message: "there is no place to look at")
    }

    /// The origin of the resource, if it publishes that it is an authorization server (Model Context Protocol 2025-03-26,
    /// Authorization, Server Metadata Discovery).
    private func ownServer(
        of url: EndpointURL,
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata? {
        let found: (object: JSONObject, reply: HTTPReply, url: EndpointURL)
        do throws(RefreshFailure) {
            let origin = try EndpointURL(url.origin, of: "resource")
            found = try await JSONFetch.first(
                of: [WellKnownURL.authorizationServer(origin)],
                trust: trust,
                publicAddressOnly: isPublic,
                limit: limit,
                tools: tools
            )
        } catch {
            guard error.kind == .misconfigured else { throw error }
            return nil
        }
        guard let issuer = found.object["issuer"]?.string,
            [url.origin, url.origin + "/"].contains(where: { $0.bytewise == issuer.bytewise })
        else { return nil }
        return ResourceMetadata(ownServer: issuer)
    }

    /// The document at the first of `places` that has one.
    private func metadata(
        of url: EndpointURL,
        at places: [String],
        isPublic: Bool
    ) async throws(RefreshFailure) -> ResourceMetadata {
        let found: (object: JSONObject, reply: HTTPReply, url: EndpointURL)
        do throws(RefreshFailure) {
            found = try await JSONFetch.first(
                of: places,
                trust: trust,
                publicAddressOnly: isPublic,
                limit: limit,
                tools: tools
            )
        } catch {
            guard error.kind == .misconfigured else { throw error }
            var missing = error
            missing.message = ServerText.cleaned(
                "the resource does not say whose tokens it takes: \(error.message)"
            )
            missing.remedy =
                "set issuer, and resources = [\"\(address)\"] in place of resource, in the session's table"
            throw missing
        }
        do throws(ResourceMetadata.Problem) {
            return try ResourceMetadata(found.object, of: url)
        } catch {
            let message = ServerText.cleaned("\(found.url.description): \(error.message)")
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

extension HTTPReply {
    /// What the fields `WWW-Authenticate` ask for.
    var challenges: Challenges {
        let fields = headers.filter { $0.name == "www-authenticate" }.map(\.value)
        return Challenges(fields.joined(separator: ", "))
    }
}
