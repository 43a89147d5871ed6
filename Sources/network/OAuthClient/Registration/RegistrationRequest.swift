// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// A request to register the agent as a client of one server (RFC 7591 §3).
struct RegistrationRequest: Sendable {
    var purpose: ClientRegistration.LookupKey
    var introduction: ClientRegistrationOptions
    var metadata: ServerMetadata
    var profile: ServerProfile
    var tools: ServerDependencies

    /// Sends the request.
    ///
    /// - Returns: The client, whose secrets are sealed and owned by the caller.
    /// - Throws: The reason there is no client.
    func send() async throws(RefreshFailure) -> ClientRegistration {
        guard let url = metadata.registration else {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "\(metadata.token.hostAndPort) does not support client registration",
                remedy: .set("client_id to a client registered at the server")
            )
        }
        let redirectURIs = redirectURIs
        var reply = try await ask(url, redirectURIs, for: grants)
        if RegistrationRequest.isRefusalOfMetadata(reply), grants != RegistrationRequest.plainGrants {
            // Some servers register a client for the device grant only under a name of their own.
            reply = try await ask(url, redirectURIs, for: RegistrationRequest.plainGrants)
        }
        let object = reply.jsonObject
        guard [200, 201].contains(reply.status), let object, ReportedOAuthError(object) == nil else {
            throw refusal(reply, url)
        }
        return try RegistrationResponse(asked: purpose, redirectURIs, method, from: url).read(
            object,
            tools.memory
        )
    }

    /// The method to authenticate the client: none if the server accepts that.
    ///
    /// A secret cannot be kept on a machine of its user (RFC 8252 §8.5).
    private var method: String {
        let listed = metadata.authenticationMethods ?? []
        switch introduction.method {
        case .basic, .basicSecret: return "client_secret_basic"
        case .post: return "client_secret_post"
        case .automatic:
            let wanted: [ByteText] = ["none", "client_secret_post", "client_secret_basic"]
            // A server that lists no methods accepts Basic (RFC 8414 §2).
            return (wanted.first(where: listed.contains) ?? "client_secret_basic").text
        }
    }

    /// The configured redirect URI, or several if any port may be used.
    ///
    /// With several, simultaneous logins and ports used by other programs do not require another client.
    private var redirectURIs: [String] {
        guard case .port(0) = profile.authorization.redirect else {
            return [profile.authorization.redirectURI(port: profile.authorization.place?.port ?? 0)]
        }
        var ports: Set<Int> = []
        while ports.count < 8 { ports.insert(.random(in: RegistrationRequest.ports)) }
        return ports.sorted().map { AuthorizationRequestOptions(redirect: .port($0)).redirectURI(port: $0) }
    }

    /// Ports below those that Linux uses for outgoing connections (`ip_local_port_range`).
    private static let ports = 20_000...32_767

    private var scope: String {
        let offered = metadata.scopes?.map(\.text) ?? []
        // A client registered for fewer scopes could not request more later.
        let all = ScopeValidator.checked(offered + profile.scopes) ?? profile.scopes
        return all.joined(separator: " ")
    }

    /// The grants that every server registers a client for.
    private static let plainGrants = ["authorization_code", "refresh_token"]

    /// The grants of the logins that the server supports.
    private var grants: [String] {
        guard metadata.deviceAuthorization != nil else { return RegistrationRequest.plainGrants }
        return RegistrationRequest.plainGrants + ["urn:ietf:params:oauth:grant-type:device_code"]
    }

    private static func isRefusalOfMetadata(_ reply: ServerResponse) -> Bool {
        reply.status == 400
            && reply.jsonObject.flatMap { ReportedOAuthError($0) }?.code == "invalid_client_metadata"
    }

    private func ask(
        _ url: EndpointURL,
        _ redirectURIs: [String],
        for grants: [String]
    ) async throws(RefreshFailure) -> ServerResponse {
        var request = OutgoingRequest(url: url, trust: profile.trust)
        request.publicAddressOnly = metadata.publicAddressOnly(url)
        request.headers = [("accept", "application/json")]
        request.json = try JSONRequestBody { body throws(RefreshFailure) in
            describe(body, redirectURIs, grants)
        }
        return try await tools.send(request)
    }

    private func describe(_ body: JSONRequestBody.MemberWriter, _ redirectURIs: [String], _ grants: [String])
    {
        body.add("client_name", "tokenagent")
        body.add("application_type", "native")
        body.add("redirect_uris", redirectURIs)
        body.add("grant_types", grants)
        body.add("response_types", ["code"])
        body.add("token_endpoint_auth_method", method)
        if !scope.isEmpty { body.add("scope", scope) }
    }

    private func refusal(_ reply: ServerResponse, _ url: EndpointURL) -> RefreshFailure {
        let answer = reply.refused(object: reply.jsonObject, at: tools.timekeeper.wallTime)
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        guard (400..<500).contains(reply.status), reply.status != 429 else { return failure }
        failure.kind = .misconfigured
        failure.message = ServerText.cleaned("cannot register a client: \(failure.message)")
        failure.remedy = .set("client_id to a client registered at the server")
        return failure
    }
}

/// The response to a registration, validated against the request (RFC 7591 §3.2.1, RFC 7592 §3).
struct RegistrationResponse {
    var asked: ClientRegistration.LookupKey
    var redirectURIs: [String]
    var method: String
    var url: EndpointURL

    /// The maximum number of bytes of a client ID, secret or URL.
    private static let longest = 4 << 10

    init(
        asked: ClientRegistration.LookupKey,
        _ redirectURIs: [String],
        _ method: String,
        from url: EndpointURL
    ) {
        self.asked = asked
        self.redirectURIs = redirectURIs
        self.method = method
        self.url = url
    }

    func read(_ object: JSONObject, _ memory: SealedMemory) throws(RefreshFailure) -> ClientRegistration {
        guard let clientID = object["client_id"]?.string, isKept(clientID) else {
            throw broken("no client_id")
        }
        if let given = object["redirect_uris"]?.array {
            let texts = Set(given.compactMap { $0.string?.bytewise })
            guard redirectURIs.allSatisfy({ texts.contains($0.bytewise) }) else {
                throw broken("another redirect URI")
            }
        }
        let method = object["token_endpoint_auth_method"]?.string ?? method
        guard ["none", "client_secret_basic", "client_secret_post"].contains(method) else {
            throw broken("an authentication method that was not requested")
        }
        var registration = ClientRegistration(
            purpose: asked,
            clientID: clientID,
            redirectURIs: redirectURIs,
            method: method
        )
        if method != "none" {
            guard let secret = object["client_secret"]?.string, isKept(secret) else {
                throw broken("no client_secret")
            }
            registration.secret = try memory.sealing(secret, as: .clientSecret)
            // 0 means that the secret does not expire (RFC 7591 §3.2.1).
            if let end = object.seconds("client_secret_expires_at"), end > 0 {
                registration.secretExpiresAt = WallTime(secondsSince1970: end)
            }
        }
        if let address = object["registration_client_uri"]?.string, isManagement(address),
            let token = object["registration_access_token"]?.string, isKept(token)
        {
            registration.managementURI = address
            registration.managementToken = try memory.sealing(token, as: .clientSecret)
        }
        return registration
    }

    private func isKept(_ text: String) -> Bool {
        (1...RegistrationResponse.longest).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Returns whether the management token may be sent to `address`: only to the server that issued it.
    private func isManagement(_ address: String) -> Bool {
        guard address.utf8.count <= RegistrationResponse.longest, let management = try? EndpointURL(address)
        else {
            return false
        }
        return management.origin == url.origin
    }

    private func broken(_ what: String) -> RefreshFailure {
        RefreshFailure(kind: .misbehaved, message: "\(url.hostAndPort): the registered client has \(what)")
    }
}
