// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The metadata of one issuer, fetched when first needed and cached.
///
/// Sessions with the same ``Issuer/Description`` share them.
///
/// - Entry points: ``metadata()``, ``metadataForKnownLogin()``, ``refetched()``, and ``fetch(_:_:match:)``
///   without a cache.
/// - May not: send secrets, or use a document that names another issuer than expected (RFC 8414 §3.3).
actor ServerMetadataCache {
    /// The maximum age of the metadata.
    ///
    /// Servers change their endpoints rarely, and a 404 at one refetches the metadata anyway.
    static let lifetime: Duration = .seconds(24 * 3_600)
    /// The time until a document is fetched again from a server without one.
    static let lifetimeWithoutDocument: Duration = .seconds(3_600)

    private let issuer: Issuer.Description
    private let tools: ServerDependencies
    private var known: (metadata: ServerMetadata, at: Instant)?
    /// Whether the metadata are fetched again at the next use, whatever their age.
    private var isDoubtful = false
    private var inFlight: Task<Result<ServerMetadata, RefreshFailure>, Never>?

    init(_ issuer: Issuer.Description, tools: ServerDependencies) {
        self.issuer = issuer
        self.tools = tools
    }

    /// Returns metadata that are at most ``lifetime`` old, or older ones while the server is unreachable.
    ///
    /// - Throws: The reason there are no metadata.
    func metadata() async throws(RefreshFailure) -> ServerMetadata {
        if let known, !isDoubtful, tools.timekeeper.now - known.at < lifetime(of: known.metadata) {
            return known.metadata
        }
        do throws(RefreshFailure) {
            return try await refetched()
        } catch {
            guard let known, error.kind != .insecure else { throw error }
            return known.metadata
        }
    }

    /// Returns ``metadata()`` for a session that already has tokens of the server.
    ///
    /// A broken document says nothing about those tokens, so its failure is temporary.
    func metadataForKnownLogin() async throws(RefreshFailure) -> ServerMetadata {
        do throws(RefreshFailure) {
            return try await metadata()
        } catch {
            guard error.kind == .misconfigured, issuer.isPublished else { throw error }
            throw RefreshFailure(kind: .busy, message: error.message, retryAfter: error.retryAfter)
        }
    }

    /// Fetches the metadata again at the next use, because a login that follows them has failed.
    ///
    /// Until then the server may have corrected them.
    func doubt() {
        isDoubtful = true
    }

    /// Fetches the metadata again.
    ///
    /// An invalid document leaves the cached metadata unchanged.
    func refetched() async throws(RefreshFailure) -> ServerMetadata {
        if let inFlight { return try await inFlight.value.get() }
        let task = Task { [issuer, tools] in await ServerMetadataCache.fetch(issuer, tools) }
        inFlight = task
        let result = await task.value
        inFlight = nil
        let metadata = try result.get()
        isDoubtful = false
        // A document seen earlier is better than the configured endpoints.
        if let known, metadata.lacksDocument, !known.metadata.lacksDocument { return known.metadata }
        known = (metadata, tools.timekeeper.now)
        return metadata
    }

    private func lifetime(of metadata: ServerMetadata) -> Duration {
        metadata.lacksDocument ? ServerMetadataCache.lifetimeWithoutDocument : ServerMetadataCache.lifetime
    }

    /// Fetches the metadata once, without a cache.
    ///
    /// - Parameters:
    ///   - issuer: The description in the configuration.
    ///   - tools: The network and the clock.
    ///   - match: The required similarity of the issuer's name in the document.
    /// - Returns: The metadata, or the reason there are none.
    static func fetch(
        _ issuer: Issuer.Description,
        _ tools: ServerDependencies,
        match: IssuerNameRules.Strictness = .exact
    ) async -> Result<ServerMetadata, RefreshFailure> {
        switch issuer.metadata {
        case .published(let name, let address, let written):
            var fetch = MetadataFetch(issuer: name, written: written, trust: issuer.trust, tools: tools)
            fetch.match = match
            return await fetch.published(at: address)
        case .named(let server, let written):
            var fetch = MetadataFetch(
                issuer: server.issuer,
                written: written,
                trust: issuer.trust,
                tools: tools
            )
            fetch.isPublic = server.isPublic
            return await fetch.named()
        case .written(let endpoints):
            return Result { () throws(EndpointURLError) in try ServerMetadata(endpoints) }
                .mapError { RefreshFailure(kind: .misconfigured, message: "an endpoint \($0)") }
        case .none:
            let message = "this kind of server has no metadata"
            return .failure(RefreshFailure(kind: .misconfigured, message: message))
        }
    }
}

extension Issuer.Description {
    /// Whether a document names the endpoints of the issuer.
    fileprivate var isPublished: Bool {
        switch metadata {
        case .published, .named: true
        case .written, .none: false
        }
    }
}

/// One fetch of the documents of an issuer.
private struct MetadataFetch {
    var issuer: String?
    var match = IssuerNameRules.Strictness.exact
    var written: EndpointOverrides
    /// Whether no URL of the server may be in a private network.
    var isPublic = false
    var trust: ServerTrust
    var tools: ServerDependencies

    /// Fetches the configured document at `address`, or the documents that the issuer's name leads to.
    ///
    /// Of the latter, the OpenID document is first, and the OAuth document completes or replaces it. A server
    /// without a usable document has the configured endpoints.
    func published(at address: String?) async -> Result<ServerMetadata, RefreshFailure> {
        let places: [String]
        do throws(RefreshFailure) {
            if let address {
                places = [address]
            } else {
                let url = try EndpointURL(issuer ?? "", of: "issuer")
                places = [WellKnownURL.openID(url), WellKnownURL.authorizationServer(url)]
            }
        } catch {
            return .failure(error)
        }
        do throws(JSONFetch.FetchError) {
            return .success(try await completed(try await first(of: places), from: places))
        } catch {
            guard error.kind != .outage,
                let fixed = try? ServerMetadata(written, issuer: issuer, lacking: error.failure.message)
            else { return .failure(error.failure) }
            return .success(fixed)
        }
    }

    /// Completes `found` with members from later ones of `places`.
    private func completed(
        _ found: (metadata: ServerMetadata, place: Int),
        from places: [String]
    ) async throws(JSONFetch.FetchError) -> ServerMetadata {
        var metadata = found.metadata
        guard metadata.deviceAuthorization == nil || metadata.revocation == nil else { return metadata }
        for place in places.dropFirst(found.place + 1) {
            guard let other = try? await first(of: [place]).metadata, other.token == metadata.token else {
                continue
            }
            metadata.fill(from: other)
        }
        return metadata
    }

    /// Fetches the first document of a server that a resource names.
    func named() async -> Result<ServerMetadata, RefreshFailure> {
        let issuer = issuer ?? ""
        let url: EndpointURL
        do throws(EndpointURLError) {
            url = try EndpointURL(issuer)
        } catch {
            let message = ServerText.cleaned("the resource's issuer \(issuer) \(error)", limit: 400)
            return .failure(RefreshFailure(kind: .misconfigured, message: message))
        }
        guard url.query == nil else {
            let message = "the resource's issuer contains a query"
            return .failure(RefreshFailure(kind: .misconfigured, message: message))
        }
        do throws(JSONFetch.FetchError) {
            return .success(try await first(of: WellKnownURL.server(url)).metadata)
        } catch {
            return .failure(error.failure)
        }
    }

    private func first(
        of places: [String]
    ) async throws(JSONFetch.FetchError) -> (metadata: ServerMetadata, place: Int) {
        let (metadata, place) = try await JSONFetch.first(
            of: places,
            trust: trust,
            publicAddressOnly: isPublic,
            tools: tools
        ) { object, reply, url throws(RefreshFailure) in
            try self.metadata(object, reply, url)
        }
        return (metadata, place)
    }

    private func metadata(
        _ object: JSONObject,
        _ reply: ServerResponse,
        _ url: EndpointURL
    ) throws(RefreshFailure) -> ServerMetadata {
        do throws(ServerMetadata.Problem) {
            var metadata = try ServerMetadata(
                object,
                issuer: issuer,
                match: match,
                from: url,
                isInternal: reply.isInternal,
                written: written
            )
            metadata.isPublic = isPublic
            return metadata
        } catch {
            let message = ServerText.cleaned("\(url.description): \(error.message)")
            let remedy = error.correction?.remedy(isNew: match != .exact)
            throw RefreshFailure(kind: .misconfigured, message: message, remedy: remedy)
        }
    }
}
