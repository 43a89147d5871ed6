// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The metadata of one issuer, fetched when first needed and kept for a while.
actor Discovery {
    /// Servers change their endpoints rarely; 404 at one of them asks for a fresh look anyway.
    static let lifetime: Duration = .seconds(24 * 3_600)
    /// After this a document is looked for again at a server that had none.
    static let lifetimeWithoutDocument: Duration = .seconds(3_600)

    private let issuer: Issuer.Description
    private let tools: ServerDependencies
    private var known: (metadata: ServerMetadata, at: Instant)?
    private var inFlight: Task<Result<ServerMetadata, RefreshFailure>, Never>?

    init(_ issuer: Issuer.Description, tools: ServerDependencies) {
        self.issuer = issuer
        self.tools = tools
    }

    /// The metadata, at most ``lifetime`` old; older is better than none while the server is away.
    /// - Throws: why there is none.
    func metadata() async throws(RefreshFailure) -> ServerMetadata {
        if let known, tools.timekeeper.now - known.at < lifetime(of: known.metadata) { return known.metadata }
        do throws(RefreshFailure) {
            return try await refetched()
        } catch {
            guard let known, error.kind != .insecure else { throw error }
            return known.metadata
        }
    }

    /// ``metadata()`` for a session that holds tokens of the server already.
    ///
    /// A document that is broken today says nothing about those tokens, so the failure is temporary.
    func metadataForKnownLogin() async throws(RefreshFailure) -> ServerMetadata {
        do throws(RefreshFailure) {
            return try await metadata()
        } catch {
            guard error.kind == .misconfigured, issuer.isPublished else { throw error }
            throw RefreshFailure(kind: .busy, message: error.message, retryAfter: error.retryAfter)
        }
    }

    /// The metadata as the server publishes it now; a bad document changes nothing that is known.
    func refetched() async throws(RefreshFailure) -> ServerMetadata {
        if let inFlight { return try await inFlight.value.get() }
        let task = Task { [issuer, tools] in await Discovery.fetch(issuer, tools) }
        inFlight = task
        let result = await task.value
        inFlight = nil
        let metadata = try result.get()
        // A document that was seen once says more than the endpoints that are written.
        if let known, metadata.lacksDocument, !known.metadata.lacksDocument { return known.metadata }
        known = (metadata, tools.timekeeper.now)
        return metadata
    }

    private func lifetime(of metadata: ServerMetadata) -> Duration {
        metadata.lacksDocument ? Discovery.lifetimeWithoutDocument : Discovery.lifetime
    }

    /// One look at the metadata; nothing of it is kept.
    ///
    /// - Parameters:
    ///   - issuer: as the configuration describes it.
    ///   - tools: how to get there.
    ///   - match: how closely the document has to name the issuer.
    /// - Returns: the metadata, or why there are none.
    static func fetch(
        _ issuer: Issuer.Description,
        _ tools: ServerDependencies,
        match: IssuerName.Match = .exact
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
    /// Whether a document says where its endpoints are.
    fileprivate var isPublished: Bool {
        switch metadata {
        case .published, .named: true
        case .written, .none: false
        }
    }
}

/// One look at the documents of an issuer.
private struct MetadataFetch {
    var issuer: String?
    var match = IssuerName.Match.exact
    var written: ConfiguredEndpoints
    /// Nothing of it may lead into a private network.
    var isPublic = false
    var trust: ServerTrust
    var tools: ServerDependencies

    /// The document at `address`, which a person has written, or else those where the issuer's name leads: the OpenID one
    /// first, which the OAuth one completes or replaces.
    ///
    /// A server without a document that can be used has the endpoints that are written.
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
        do throws(JSONFetch.Miss) {
            return .success(try await completed(try await first(of: places), from: places))
        } catch {
            guard error.sign != .outage,
                let fixed = try? ServerMetadata(written, issuer: issuer, lacking: error.failure.message)
            else { return .failure(error.failure) }
            return .success(fixed)
        }
    }

    /// `metadata`, with what it lacks taken from a later one of `places`.
    private func completed(
        _ found: (metadata: ServerMetadata, place: Int),
        from places: [String]
    ) async throws(JSONFetch.Miss) -> ServerMetadata {
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

    /// The first document of a server that a resource names.
    func named() async -> Result<ServerMetadata, RefreshFailure> {
        let issuer = issuer ?? ""
        let url: EndpointURL
        do throws(EndpointURLError) {
            url = try EndpointURL(issuer)
        } catch {
            let message = ServerText.cleaned("the resource names \(issuer), which \(error)", limit: 400)
            return .failure(RefreshFailure(kind: .misconfigured, message: message))
        }
        guard url.query == nil else {
            let message = "the resource names an issuer with a query"
            return .failure(RefreshFailure(kind: .misconfigured, message: message))
        }
        do throws(JSONFetch.Miss) {
            return .success(try await first(of: WellKnownURL.server(url)).metadata)
        } catch {
            return .failure(error.failure)
        }
    }

    private func first(
        of places: [String]
    ) async throws(JSONFetch.Miss) -> (metadata: ServerMetadata, place: Int) {
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
