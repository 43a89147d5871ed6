// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The metadata that a server publishes, validated (OIDC Discovery §3, RFC 8414 §2).
struct ServerMetadata: Equatable, Sendable {
    /// The issuer's name as in the document.
    var issuer: String?
    var token: EndpointURL
    var authorization: EndpointURL?
    var deviceAuthorization: EndpointURL?
    var revocation: EndpointURL?
    var endSession: EndpointURL?
    var keySet: EndpointURL?
    /// The ways to authenticate clients, or `nil` if not published.
    var authenticationMethods: [ByteText]?
    /// The signature algorithms for assertions of clients, or `nil` if not published.
    var assertionAlgorithms: [ByteText]?
    var responseTypes: [ByteText]?
    /// The grant types, or `nil` if not published.
    var grantTypes: [ByteText]?
    /// The scopes, or `nil` if not published.
    var scopes: [ByteText]?
    /// The endpoint that registers clients (RFC 7591 §3).
    var registration: EndpointURL?
    var challengeMethods: [ByteText]?
    var signingAlgorithms: [ByteText]?
    /// The algorithms for proofs of possession (RFC 9449 §5.1).
    var proofAlgorithms: [ByteText]?
    /// Whether the authorization response names its issuer (RFC 9207 §3).
    var namesIssuer = false
    var pushedAuthorization: EndpointURL?
    /// Whether authorization requests must be pushed first (RFC 9126 §5).
    var wantsPushedRequests = false
    /// The endpoints for clients with a certificate (RFC 8705 §5), by their names.
    private var aliases: [String: EndpointURL] = [:]
    /// The token endpoint that ``forCertificates`` has replaced.
    private(set) var tokenWithoutCertificate: EndpointURL?
    /// Whether the document came from an address in a private network, so that its endpoints may be there
    /// too.
    var isInternal = false
    /// Whether a resource on the public Internet named the server.
    ///
    /// No URL of the server may then be in a private network.
    var isPublic = false
    /// The resources that the server issues tokens for (RFC 9728 §4), or `nil` if not published.
    var protectedResources: [ByteText]?
    /// Whether a client ID may be the URL of a document about the client (client ID metadata documents).
    var readsClientDocuments = false
    /// Whether there is no document and the configuration names all endpoints.
    var isFixed = false
    /// The optional endpoints in the document that cannot be used.
    private(set) var unusable: [UnusableEndpoint] = []
    /// The host that the document came from.
    private var documentHost: String?
    /// The reason a document is missing at a server that should have one.
    private var missing: String?
    /// Whether the configured endpoints replace a document that cannot be fetched.
    var lacksDocument: Bool { missing != nil }
    /// The endpoints that the configuration names in addition to the document.
    private var written: [EndpointURL] = []

    /// Creates metadata from configured endpoints, which were validated with the profile.
    init(_ endpoints: FixedEndpoints) throws(EndpointURLError) {
        issuer = endpoints.issuer
        token = try EndpointURL(endpoints.token)
        authorization = try endpoints.authorization.map { text throws(EndpointURLError) in
            try EndpointURL(text)
        }
        deviceAuthorization = try endpoints.deviceAuthorization
            .map { text throws(EndpointURLError) in try EndpointURL(text) }
        revocation = try endpoints.revocation.map { text throws(EndpointURLError) in try EndpointURL(text) }
        endSession = try endpoints.endSession.map { text throws(EndpointURLError) in try EndpointURL(text) }
        keySet = try endpoints.keySet.map { text throws(EndpointURLError) in try EndpointURL(text) }
        isFixed = true
    }

    /// Creates metadata from configured endpoints for a server whose document cannot be used because of
    /// `reason`.
    ///
    /// - Returns: `nil` if no token endpoint is configured.
    init?(
        _ endpoints: EndpointOverrides,
        issuer: String?,
        lacking reason: String
    ) throws(EndpointURLError) {
        guard let token = endpoints.token else { return nil }
        try self.init(
            FixedEndpoints(
                token: token,
                authorization: endpoints.authorization,
                deviceAuthorization: endpoints.deviceAuthorization,
                revocation: endpoints.revocation,
                endSession: endpoints.endSession,
                keySet: endpoints.keySet,
                issuer: issuer
            )
        )
        missing = reason
    }

    /// The reason a document is not used.
    struct Problem: Error, Equatable {
        var message: String
        var correction: SuggestedSetting?
    }

    /// A change that would make the document usable for the session.
    enum SuggestedSetting: Equatable {
        /// Use the issuer's name as spelled in the document.
        case spelling(String)
        /// Use the issuer of the document and the address of the document.
        case address(issuer: String, String)
        case tenant

        /// Returns the remedy for the user.
        ///
        /// With `isNew` it names options of `tokenctl add`, because there is no session yet.
        func remedy(isNew: Bool) -> Remedy {
            switch self {
            // A new session uses this spelling automatically.
            case .spelling(let issuer): .set("issuer = \"\(issuer)\", as the server spells it")
            case .address(let issuer, let url):
                isNew
                    ? .set("--metadata-url \(url) if you trust this server")
                    : .set("issuer = \"\(issuer)\" and metadata_url = \"\(url)\" if you trust this server")
            case .tenant: .set("issuer to that of your own tenant, with its ID in it")
            }
        }
    }

    /// An optional endpoint that cannot be used.
    ///
    /// The reason is the end of a sentence that begins with its name.
    struct UnusableEndpoint: Equatable, Sendable {
        var name: String
        var reason: String
    }

    /// Validates a document of `issuer`.
    ///
    /// An unusable optional endpoint counts as missing.
    ///
    /// - Parameters:
    ///   - document: The document as published.
    ///   - issuer: The issuer that the document must name, or `nil` if not known.
    ///   - match: The required similarity of the names.
    ///   - url: The URL of the document.
    ///   - isInternal: Whether the document came from an address in a private network.
    ///   - endpoints: The configured endpoints, which replace the document's own values. Replaced values are
    ///     not checked.
    /// - Throws: The reason nothing of the document is used.
    init(
        _ document: JSONObject,
        issuer: String?,
        match: IssuerNameRules.Strictness = .exact,
        from url: EndpointURL? = nil,
        isInternal: Bool,
        written endpoints: EndpointOverrides = EndpointOverrides()
    ) throws(Problem) {
        // Compare bytes (RFC 8414 §3.3) and do not use `String`'s `==`.
        guard let named = document["issuer"]?.string, !named.isEmpty else {
            throw Problem(message: "the server metadata has no issuer")
        }
        guard !IssuerNameRules.isTemplate(named) || named.bytewise == issuer?.bytewise else {
            throw .template(named)
        }
        guard IssuerNameRules.areSame(named, issuer, match) else {
            throw .otherIssuer(named, than: issuer, url)
        }
        guard named.utf8.count <= EndpointURL.longest, named.utf8.allSatisfy(\.isVisibleASCII) else {
            throw Problem(message: "the issuer in the server metadata is not printable ASCII without spaces")
        }
        let reader = Reader(document: document, issuerIsLocal: isInternal, written: endpoints.byName)
        switch reader.endpoint("token_endpoint") {
        case .usable(let token): self.token = token
        case .absent: throw Problem(message: "the server metadata has no token_endpoint")
        case .unusable(let reason): throw Problem(message: "token_endpoint \(reason)")
        }
        self.issuer = named
        self.isInternal = isInternal
        documentHost = url?.host
        for (name, member) in ServerMetadata.optionalEndpoints {
            self[keyPath: member] = optional(name, reader.endpoint(name))
        }
        readsClientDocuments = document["client_id_metadata_document_supported"]?.bool ?? false
        authenticationMethods = reader.strings("token_endpoint_auth_methods_supported")
        assertionAlgorithms = reader.strings("token_endpoint_auth_signing_alg_values_supported")
        responseTypes = reader.strings("response_types_supported")
        grantTypes = reader.strings("grant_types_supported")
        scopes = reader.strings("scopes_supported")
        // A server that lists no method has no PKCE.
        challengeMethods = reader.literalStrings("code_challenge_methods_supported")
        signingAlgorithms = reader.strings("id_token_signing_alg_values_supported")
        proofAlgorithms = reader.strings("dpop_signing_alg_values_supported")
        protectedResources = reader.strings("protected_resources")
        namesIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
        wantsPushedRequests = document["require_pushed_authorization_requests"]?.bool ?? false
        written = endpoints.byName.values.compactMap { try? EndpointURL($0) }
        guard let object = document["mtls_endpoint_aliases"]?.object else { return }
        let others = Reader(document: object, issuerIsLocal: isInternal, written: endpoints.byName)
        for name in ServerMetadata.aliased {
            aliases[name] = optional("mtls_endpoint_aliases.\(name)", others.endpoint(name))
        }
    }

    private static var optionalEndpoints: [(String, WritableKeyPath<ServerMetadata, EndpointURL?>)] {
        [
            ("authorization_endpoint", \.authorization),
            ("device_authorization_endpoint", \.deviceAuthorization),
            ("pushed_authorization_request_endpoint", \.pushedAuthorization),
            ("revocation_endpoint", \.revocation), ("end_session_endpoint", \.endSession),
            ("jwks_uri", \.keySet), ("registration_endpoint", \.registration),
        ]
    }

    /// Returns the endpoint `name` if it can be used.
    ///
    /// If it cannot, it is added to ``unusable``.
    private mutating func optional(_ name: String, _ value: Reader.EndpointResult) -> EndpointURL? {
        switch value {
        case .usable(let url): return url
        case .absent: return nil
        case .unusable(let reason):
            unusable.append(UnusableEndpoint(name: name, reason: reason))
            return nil
        }
    }

    /// The endpoints at which a client authenticates.
    private static let aliased = [
        "token_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint",
        "revocation_endpoint",
    ]

    /// The metadata for a client with a certificate.
    var forCertificates: ServerMetadata {
        var metadata = self
        metadata.token = aliases["token_endpoint"] ?? token
        metadata.deviceAuthorization = aliases["device_authorization_endpoint"] ?? deviceAuthorization
        metadata.pushedAuthorization = aliases["pushed_authorization_request_endpoint"] ?? pushedAuthorization
        metadata.revocation = aliases["revocation_endpoint"] ?? revocation
        metadata.tokenWithoutCertificate = token
        return metadata
    }

    /// Adds the members of `other`, another document of the same issuer, that are missing here.
    mutating func fill(from other: ServerMetadata) {
        for (name, member) in ServerMetadata.optionalEndpoints {
            self[keyPath: member] = self[keyPath: member] ?? other[keyPath: member]
            if self[keyPath: member] != nil { unusable.removeAll { $0.name == name } }
        }
        readsClientDocuments = readsClientDocuments || other.readsClientDocuments
        authenticationMethods = authenticationMethods ?? other.authenticationMethods
        assertionAlgorithms = assertionAlgorithms ?? other.assertionAlgorithms
        responseTypes = responseTypes ?? other.responseTypes
        grantTypes = grantTypes ?? other.grantTypes
        scopes = scopes ?? other.scopes
        challengeMethods = challengeMethods ?? other.challengeMethods
        signingAlgorithms = signingAlgorithms ?? other.signingAlgorithms
        proofAlgorithms = proofAlgorithms ?? other.proofAlgorithms
        aliases.merge(other.aliases) { own, _ in own }
        namesIssuer = namesIssuer || other.namesIssuer
        wantsPushedRequests = wantsPushedRequests || other.wantsPushedRequests
    }

    /// Returns whether a request to `url` must not lead into a private network.
    ///
    /// The host of the document, and any configured address, may be in one.
    func publicAddressOnly(_ url: EndpointURL) -> Bool {
        guard !isFixed, !written.contains(url) else { return false }
        if isPublic { return true }
        guard !isInternal, let issuer else { return false }
        return (documentHost ?? (try? EndpointURL(issuer))?.host) != url.host
    }
}

private struct Reader {
    var document: JSONObject
    var issuerIsLocal: Bool
    var written: [String: String]

    enum EndpointResult {
        case usable(EndpointURL)
        case absent
        /// The reason, without text of the server, as the end of a sentence that begins with the endpoint's
        /// name.
        case unusable(String)
    }

    func endpoint(_ name: String) -> EndpointResult {
        if let text = written[name] { return (try? EndpointURL(text)).map { .usable($0) } ?? .absent }
        guard let value = document[name], value != .null else { return .absent }
        guard let text = value.string else { return .unusable("is not a string") }
        guard !text.isEmpty else { return .unusable("is empty") }
        let url: EndpointURL
        do throws(EndpointURLError) {
            url = try EndpointURL(text)
        } catch {
            return .unusable(error.description)
        }
        guard issuerIsLocal || !url.isInternal else { return .unusable("points into a private network") }
        return .usable(url)
    }

    /// Returns a list, or `nil` if there is none or it is empty, which a server must leave out (RFC 8414 §3.2).
    func strings(_ name: String) -> [ByteText]? {
        document[name]?.array?.isEmpty == false ? literalStrings(name) : nil
    }

    /// Returns a list, also an empty one.
    func literalStrings(_ name: String) -> [ByteText]? {
        document[name]?.array?.compactMap { $0.string?.bytewise }
    }
}

extension ServerMetadata.Problem {
    /// Returns the error for a document of another issuer.
    ///
    /// The remedy depends on the difference of the names.
    fileprivate static func otherIssuer(
        _ named: String,
        than expected: String?,
        _ url: EndpointURL?
    ) -> Self {
        let name = ServerText.cleaned(named, limit: 200)
        let expected = expected ?? ""
        let message = "the server metadata is for issuer \(name), not \(expected)"
        if IssuerNameRules.differInSpelling(named, expected) {
            return Self(message: message, correction: .spelling(name))
        }
        return Self(message: message, correction: url.map { .address(issuer: name, $0.description) })
    }

    /// Returns the error for the document of Entra's `common` and `organizations`.
    fileprivate static func template(_ named: String) -> Self {
        let name = ServerText.cleaned(named, limit: 200)
        return Self(
            message: "the server metadata is for many tenants: its issuer is \(name)",
            correction: .tenant
        )
    }
}

extension ServerMetadata {
    /// Returns the reason the endpoint `name` of the document is not used, in brackets after a sentence, or
    /// an empty text.
    func reason(forLacking name: String) -> String {
        unusable.first { $0.name == name }.map { " (in its metadata \(name) \($0.reason))" } ?? ""
    }

    /// The clauses for `tokenctl add` and `tokenctl doctor`, without texts of the server.
    var remarks: [String] {
        (lacksDocument ? ["no metadata, using the configured endpoints"] : [])
            + unusable.map { "ignored \($0.name): it \($0.reason)" }
    }
}
