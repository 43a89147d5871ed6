// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The metadata of one issuer, fetched when first needed and kept for a while.
actor Discovery {
    /// Servers change their endpoints rarely; 404 at one of them asks for a fresh look anyway.
    static let lifetime: Duration = .seconds(24 * 3_600)

    private let issuer: Issuer.Description
    private let tools: ServerTools
    private var known: (metadata: ServerMetadata, at: Instant)?
    private var inFlight: Task<Result<ServerMetadata, RefreshFailure>, Never>?

    init(_ issuer: Issuer.Description, tools: ServerTools) {
        self.issuer = issuer
        self.tools = tools
    }

    /// The metadata, at most ``lifetime`` old; older is better than none while the server is away.
    /// - Throws: why there is none.
    func metadata() async throws(RefreshFailure) -> ServerMetadata {
        if let known, tools.timekeeper.now - known.at < Discovery.lifetime { return known.metadata }
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
        known = (metadata, tools.timekeeper.now)
        return metadata
    }

    /// One look at the metadata; nothing of it is kept.
    static func fetch(
        _ issuer: Issuer.Description,
        _ tools: ServerTools
    ) async -> Result<ServerMetadata, RefreshFailure> {
        switch issuer.metadata {
        case .published(let name, let written):
            return await MetadataFetch(issuer: name, written: written, trust: issuer.trust, tools: tools)
                .run()
        case .named(let server, let written):
            let fetch = MetadataFetch(
                issuer: server.issuer,
                written: written,
                isPublic: server.isPublic,
                trust: issuer.trust,
                tools: tools
            )
            do throws(RefreshFailure) {
                return .success(try await fetch.named())
            } catch {
                return .failure(error)
            }
        case .written(let endpoints):
            return Result { () throws(EndpointProblem) in try ServerMetadata(endpoints) }
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

/// One look at both documents of an issuer.
private struct MetadataFetch {
    var issuer: String
    var written: WrittenEndpoints
    /// Nothing of it may lead into a private network.
    var isPublic = false
    var trust: ServerTrust
    var tools: ServerTools

    /// The OpenID document first; the OAuth one fills what is missing, or stands alone.
    func run() async -> Result<ServerMetadata, RefreshFailure> {
        let url: EndpointURL
        do throws(EndpointProblem) {
            url = try EndpointURL(issuer)
        } catch {
            return .failure(RefreshFailure(kind: .misconfigured, message: "issuer \(error)"))
        }
        let openID = await document(WellKnownURL.openID(url))
        guard case .success(var metadata) = openID else {
            guard case .failure(let failure) = openID, failure.kind == .misconfigured else { return openID }
            let other = await document(WellKnownURL.authorizationServer(url))
            if case .success = other { return other }
            return openID
        }
        if metadata.deviceAuthorization == nil || metadata.revocation == nil,
            case .success(let other) = await document(WellKnownURL.authorizationServer(url)),
            other.token == metadata.token
        {
            metadata.fill(from: other)
        }
        return .success(metadata)
    }

    /// The first document there is, of a server that a resource names; one that is wrong is the end.
    func named() async throws(RefreshFailure) -> ServerMetadata {
        let url: EndpointURL
        do throws(EndpointProblem) {
            url = try EndpointURL(issuer)
        } catch {
            let message = ServerText.cleaned("the resource names \(issuer), which \(error)", limit: 400)
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
        guard url.query == nil else {
            throw RefreshFailure(kind: .misconfigured, message: "the resource names an issuer with a query")
        }
        let places = WellKnownURL.server(url)
        return try metadata(
            try await JSONFetch.first(of: places, trust: trust, publicAddressOnly: isPublic, tools: tools)
        )
    }

    private func document(_ address: String) async -> Result<ServerMetadata, RefreshFailure> {
        do throws(RefreshFailure) {
            return .success(try await fetch(address))
        } catch {
            return .failure(error)
        }
    }

    private func fetch(_ address: String) async throws(RefreshFailure) -> ServerMetadata {
        try metadata(try await JSONFetch.get(address, trust: trust, tools: tools))
    }

    private func metadata(
        _ found: (JSONObject, HTTPReply, EndpointURL)
    ) throws(RefreshFailure) -> ServerMetadata {
        let (object, reply, url) = found
        do throws(ServerMetadata.Problem) {
            var metadata = try ServerMetadata(
                object,
                issuer: issuer,
                isInternal: reply.isInternal,
                written: written
            )
            metadata.isPublic = isPublic
            return metadata
        } catch {
            let message = ServerText.cleaned("\(url.description): \(error.message)")
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
    }
}

/// Fetches public JSON documents.
enum JSONFetch {
    /// The object at `address`.
    ///
    /// A page in place of the object is a portal's, which speaks for the network. Where the object is looked for at
    /// several places (`isOneOfSeveral`), it may as well be the server's own for what is not there.
    /// - Throws: `misconfigured` when the server answers with something else for good (404, no JSON).
    static func get(
        _ address: String,
        trust: ServerTrust,
        publicAddressOnly: Bool = false,
        isOneOfSeveral: Bool = false,
        limit: Duration? = nil,
        tools: ServerTools
    ) async throws(RefreshFailure) -> (JSONObject, HTTPReply, EndpointURL) {
        let url = try EndpointURL(address, of: address)
        var request = OutgoingRequest(url: url, trust: trust, publicAddressOnly: publicAddressOnly)
        request.headers = [("accept", "application/json")]
        request.limit = limit
        let reply: HTTPReply
        do throws(TransportFailure) {
            reply = try await tools.exchanged(request)
        } catch {
            throw error.refreshFailure(at: url)
        }
        guard reply.status == 200, let object = reply.jsonObject else {
            throw refusal(of: reply, url, isOneOfSeveral, tools)
        }
        return (object, reply, url)
    }

    /// The object at the first of `places` that has one.
    ///
    /// - Throws: `misconfigured` with what the last of them says, if none has; any other failure ends the search.
    static func first(
        of places: [String],
        trust: ServerTrust,
        publicAddressOnly: Bool,
        limit: Duration? = nil,
        tools: ServerTools
    ) async throws(RefreshFailure) -> (object: JSONObject, reply: HTTPReply, url: EndpointURL) {
        var missing = RefreshFailure(kind: .misconfigured, message: "there is no place to look at")
        for place in places {
            do throws(RefreshFailure) {
                return try await get(
                    place,
                    trust: trust,
                    publicAddressOnly: publicAddressOnly,
                    isOneOfSeveral: true,
                    limit: limit,
                    tools: tools
                )
            } catch {
                guard error.kind == .misconfigured else { throw error }
                missing = error
            }
        }
        throw missing
    }

    private static func refusal(
        of reply: HTTPReply,
        _ url: EndpointURL,
        _ isOneOfSeveral: Bool,
        _ tools: ServerTools
    ) -> RefreshFailure {
        let answer = reply.refused(object: nil, at: tools.timekeeper.wallTime)
        let isMissing =
            [400, 401, 404, 405, 410].contains(reply.status) && (isOneOfSeveral || !answer.isHTML)
        let words = reply.status == 200 ? "the answer is not a JSON object" : "answered \(reply.status)"
        return RefreshFailure(
            kind: isMissing || (reply.status == 200 && !answer.isHTML) ? .misconfigured : .busy,
            message: ServerText.cleaned("\(url.description): \(words)"),
            retryAfter: answer.retryAfter
        )
    }
}
