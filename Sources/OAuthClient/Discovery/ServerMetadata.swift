// SPDX-License-Identifier: MIT

import ServerCertificates
import Text
import TokenCore

/// What a server publishes about itself, checked (OIDC Discovery §3, RFC 8414 §2).
struct ServerMetadata: Equatable, Sendable {
    var issuer: String?
    var token: EndpointURL
    var authorization: EndpointURL?
    var deviceAuthorization: EndpointURL?
    var revocation: EndpointURL?
    var endSession: EndpointURL?
    var keySet: EndpointURL?
    /// `nil`: not said.
    var authenticationMethods: [ByteText]?
    /// How assertions of clients may be signed; `nil`: not said.
    var assertionAlgorithms: [ByteText]?
    var responseTypes: [ByteText]?
    /// `nil`: not said.
    var grantTypes: [ByteText]?
    /// `nil`: not said.
    var scopes: [ByteText]?
    /// Where clients are registered (RFC 7591 §3).
    var registration: EndpointURL?
    var challengeMethods: [ByteText]?
    var signingAlgorithms: [ByteText]?
    /// Algorithms for proofs of possession (RFC 9449 §5.1).
    var proofAlgorithms: [ByteText]?
    /// The authorization response names its issuer (RFC 9207 §3).
    var namesIssuer = false
    var pushedAuthorization: EndpointURL?
    /// Authorization requests have to be pushed first (RFC 9126 §5).
    var wantsPushedRequests = false
    /// The endpoints for clients that show a certificate (RFC 8705 §5), by their names.
    private var aliases: [String: EndpointURL] = [:]
    /// The token endpoint that ``forCertificates`` has replaced.
    private(set) var tokenWithoutCertificate: EndpointURL?
    /// The document came from an address inside a private network, so its endpoints may be there too.
    var isInternal = false
    /// A resource on the public Internet named the server, so nothing of it may be in a private network.
    var isPublic = false
    /// The resources it gives tokens for (RFC 9728 §4); `nil`: not said.
    var protectedResources: [ByteText]?
    /// A client may be named by the address of a document about it (client id metadata documents).
    var readsClientDocuments = false
    /// There is no document: the configuration names all endpoints.
    var isFixed = false
    /// Endpoints that the configuration names beside the document.
    private var written: [EndpointURL] = []

    /// Endpoints written down by hand; validated with the profile.
    init(_ endpoints: FixedEndpoints) throws(EndpointProblem) {
        issuer = endpoints.issuer
        token = try EndpointURL(endpoints.token)
        authorization = try endpoints.authorization.map { text throws(EndpointProblem) in
            try EndpointURL(text)
        }
        deviceAuthorization = try endpoints.deviceAuthorization
            .map { text throws(EndpointProblem) in try EndpointURL(text) }
        revocation = try endpoints.revocation.map { text throws(EndpointProblem) in try EndpointURL(text) }
        endSession = try endpoints.endSession.map { text throws(EndpointProblem) in try EndpointURL(text) }
        keySet = try endpoints.keySet.map { text throws(EndpointProblem) in try EndpointURL(text) }
        isFixed = true
    }

    /// Why a document is not used.
    struct Problem: Error, Equatable {
        var message: String
    }

    /// Reads a document that must be the one of `issuer`; one bad endpoint spoils all of it.
    ///
    /// - Parameters:
    ///   - document: as published.
    ///   - issuer: the issuer that it has to name.
    ///   - isInternal: it came from an address inside a private network.
    ///   - endpoints: what the configuration says instead; the document's own value is then not looked at.
    /// - Throws: why nothing of it is used.
    init(
        _ document: JSONObject,
        issuer: String,
        isInternal: Bool,
        written endpoints: WrittenEndpoints = WrittenEndpoints()
    ) throws(Problem) {
        // Simple string comparison, no normalisation (RFC 8414 §3.3), so not with `String`'s `==`.
        guard let named = document["issuer"]?.string else {
            throw Problem(message: "the document names no issuer")
        }
        guard named.bytewise == issuer.bytewise else {
            throw Problem(
                message: "the document is of issuer \(ServerText.cleaned(named, limit: 200)), not \(issuer)"
            )
        }
        let reader = Reader(document: document, issuerIsLocal: isInternal, written: endpoints.byName)
        guard let token = try reader.endpoint("token_endpoint") else {
            throw Problem(message: "the document has no token_endpoint")
        }
        self.issuer = issuer
        self.token = token
        self.isInternal = isInternal
        authorization = try reader.endpoint("authorization_endpoint")
        deviceAuthorization = try reader.endpoint("device_authorization_endpoint")
        pushedAuthorization = try reader.endpoint("pushed_authorization_request_endpoint")
        revocation = try reader.endpoint("revocation_endpoint")
        endSession = try reader.endpoint("end_session_endpoint")
        keySet = try reader.endpoint("jwks_uri")
        registration = try reader.endpoint("registration_endpoint")
        readsClientDocuments = document["client_id_metadata_document_supported"]?.bool ?? false
        authenticationMethods = reader.strings("token_endpoint_auth_methods_supported")
        assertionAlgorithms = reader.strings("token_endpoint_auth_signing_alg_values_supported")
        responseTypes = reader.strings("response_types_supported")
        grantTypes = reader.strings("grant_types_supported")
        scopes = reader.strings("scopes_supported")
        challengeMethods = reader.strings("code_challenge_methods_supported")
        signingAlgorithms = reader.strings("id_token_signing_alg_values_supported")
        proofAlgorithms = reader.strings("dpop_signing_alg_values_supported")
        protectedResources = reader.strings("protected_resources")
        namesIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
        wantsPushedRequests = document["require_pushed_authorization_requests"]?.bool ?? false
        written = endpoints.byName.values.compactMap { try? EndpointURL($0) }
        guard let object = document["mtls_endpoint_aliases"]?.object else { return }
        let others = Reader(document: object, issuerIsLocal: isInternal, written: endpoints.byName)
        for name in ServerMetadata.aliased { aliases[name] = try others.endpoint(name) }
    }

    /// The endpoints at which a client proves who it is.
    private static let aliased = [
        "token_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint",
        "revocation_endpoint",
    ]

    /// The metadata for a client that shows a certificate.
    var forCertificates: ServerMetadata {
        var metadata = self
        metadata.token = aliases["token_endpoint"] ?? token
        metadata.deviceAuthorization = aliases["device_authorization_endpoint"] ?? deviceAuthorization
        metadata.pushedAuthorization = aliases["pushed_authorization_request_endpoint"] ?? pushedAuthorization
        metadata.revocation = aliases["revocation_endpoint"] ?? revocation
        metadata.tokenWithoutCertificate = token
        return metadata
    }

    /// Takes from `other`, another document of the same issuer, what this one lacks.
    mutating func fill(from other: ServerMetadata) {
        authorization = authorization ?? other.authorization
        deviceAuthorization = deviceAuthorization ?? other.deviceAuthorization
        pushedAuthorization = pushedAuthorization ?? other.pushedAuthorization
        revocation = revocation ?? other.revocation
        endSession = endSession ?? other.endSession
        keySet = keySet ?? other.keySet
        registration = registration ?? other.registration
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

    /// Whether a request to `url` must not end inside a private network.
    ///
    /// The issuer's host, and any address that the configuration names, may be anywhere.
    func publicAddressOnly(_ url: EndpointURL) -> Bool {
        guard !isFixed, !written.contains(url) else { return false }
        if isPublic { return true }
        guard !isInternal, let issuer else { return false }
        return (try? EndpointURL(issuer))?.host != url.host
    }
}

private struct Reader {
    var document: JSONObject
    var issuerIsLocal: Bool
    var written: [String: String]

    func endpoint(_ name: String) throws(ServerMetadata.Problem) -> EndpointURL? {
        if let text = written[name] { return try? EndpointURL(text) }
        guard let value = document[name], value != .null else { return nil }
        guard let text = value.string else {
            throw ServerMetadata.Problem(message: "\(name) is not a string")
        }
        let url: EndpointURL
        do throws(EndpointProblem) {
            url = try EndpointURL(text)
        } catch {
            throw ServerMetadata.Problem(message: "\(name) \(error.description)")
        }
        let isInternal = IPAddress(url.host)?.isInternal ?? (url.host == "localhost")
        guard issuerIsLocal || !isInternal else {
            throw ServerMetadata.Problem(message: "\(name) leads into a private network")
        }
        return url
    }

    func strings(_ name: String) -> [ByteText]? {
        document[name]?.array?.compactMap { $0.string?.bytewise }
    }
}
