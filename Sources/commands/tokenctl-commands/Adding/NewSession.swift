// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The requested session, before flow and scopes are chosen for it.
struct NewSession {
    /// The scopes for a login that returns a refresh token.
    static let usualScopes = ["openid", "offline_access"]

    var name: String
    var server: NewSessionServer
    var client: NewSessionClient
    /// The flow, or `nil` if it is to be chosen.
    var flow: NewSessionFlow?
    /// The scopes; if empty, those of the provider that the issuer supports.
    var scopes: [String] = []
    var redirectPort: Int?
    var redirectURI: String?
    /// The session whose token is exchanged for this one's.
    var source: String?
    /// Whether tokens are issued for an assertion that is not another session's token.
    var hasAssertion = false
    var audience: String?
    /// The resources that tokens are requested for (RFC 8707).
    var resources: [String] = []
    /// The servers that tokens are for; if empty, those of the provider.
    var hosts: [String] = []
    /// The keys that are written as given.
    var lines: [DraftLine] = []

    /// Whether tokens are issued for an assertion (RFC 7523 §2.1).
    var isJWTBearer: Bool { flow == .jwtBearer || hasAssertion }

    /// Whether the session obtains its tokens by a login.
    var hasLogin: Bool { !isJWTBearer && source == nil && server.kind != .githubApp }

    /// Whether the server registers a client at the first login.
    var isRegisteredAtLogin: Bool { server.kind.hasClients && hasLogin && client.id == nil }
}

/// The authorization server of a requested session.
struct NewSessionServer {
    var provider: Provider?
    var kind = NewSessionServerKind.oidc
    /// The issuer, or the access portal for the kind `aws_sso`.
    var issuer: String?
    /// The URL of the issuer's metadata, if it cannot be derived from the issuer.
    var metadata: String?
    /// The protected resource that names the server.
    var resource: String?
    var endpoints: [ServerEndpointSetting] = []
    /// The AWS role that is assumed with a session's token.
    var roleARN: String?
    /// The AWS region, or `nil` if the address of the issuer or service contains it.
    var region: String?
    /// The keys that the provider leaves to the session.
    var lines: [DraftLine] = []
    /// The CA certificates to trust, which are copied next to the configuration.
    var authority: CopiedCAFile?

    /// Probes the server for its capabilities.
    ///
    /// The agent sends the requests, because this program has no network access.
    ///
    /// - Parameters:
    ///   - endpoint: The agent.
    ///   - name: The name of the new session, for remedies.
    /// - Returns: The capabilities, or `nil` if servers of this kind do not publish them.
    /// - Throws: ``AgentError`` of the agent, with a remedy.
    func examined(
        by endpoint: AgentEndpoint,
        for name: String
    ) throws(AgentError) -> ServerProbeMessage? {
        guard kind == .oidc else { return nil }
        var body = AgentRequestBody<ServerProbeRequestMembers>()
        if let issuer { body.add(\.issuer, issuer) }
        if let metadata { body.add(\.metadata, metadata) }
        if let resource { body.add(\.resource, resource) }
        if let authority { body.add(\.caFile, authority.path) }
        let request = AgentRequest(.post, "examine", body: body.finished())
        do throws(AgentError) {
            let offer: ServerProbeMessage = try endpoint.message(request)
            return offer
        } catch {
            throw error.about(self, for: name)
        }
    }

    /// Replaces the issuer by the spelling in its own metadata, with which all else of the server is
    /// compared.
    ///
    /// - Returns: A note for the user, or `nil` if nothing has changed.
    mutating func adoptSpelling(of offer: ServerProbeMessage?) -> String? {
        guard resource == nil, let named = offer?.issuer, named.bytewise != issuer?.bytewise else {
            return nil
        }
        defer { issuer = named }
        guard let issuer else { return "The metadata at --metadata-url names the issuer \(named)" }
        return "Using the issuer's own spelling \(named) instead of \(issuer)"
    }
}

extension AgentError {
    /// Returns this error of a probe with a remedy for the user.
    fileprivate func about(_ server: NewSessionServer, for name: String) -> AgentError {
        var error = self
        guard error.remedy == nil, error.retryAfter == nil else { return error }
        if code == .temporarilyUnavailable {
            let place = server.resource == nil ? "issuer" : "resource"
            error.remedy = .retry("after checking the URL of the \(place)")
        }
        if code == .misconfigured, server.authority == nil {
            // A resource that does not name its authorization server needs a session with a known issuer.
            let resource = server.resource.map { "--resource \(ShellWord.quoted($0))" }
            error.remedy =
                resource.map { Remedy.run("tokenctl add \(name) --issuer URL \($0)") }
                ?? Remedy.set("--issuer to the issuer's URL, or --kind oauth2 with its endpoints")
        }
        return error
    }
}

/// The client of a requested session, and its credentials.
struct NewSessionClient {
    /// The client ID, or `nil` if the server registers a client at the first login.
    var id: String?
    var secretFile: String?
    /// Whether the agent stores the client's secret, sealed.
    var givesSecret = false
    var keyFile: String?
    var keyID: String?
    var certificateFile: String?
    /// The authentication method, or `nil` to choose one by the client's credentials.
    var authentication: ClientArguments.AuthenticationMethod?

    /// A phrase for the credentials, and the methods of which the issuer has to support one.
    var proof: (words: String, ways: [String]) {
        if certificateFile != nil { return ("with a certificate", ["tls"]) }
        if keyFile != nil { return ("with a key", ["private_key_jwt"]) }
        if secretFile != nil || givesSecret {
            return ("with a secret", ["basic", "post", "client_secret_jwt"])
        }
        return ("without a secret", ["none"])
    }
}

/// The region and the pool in the issuer of an Amazon Cognito user pool.
struct CognitoIssuer: Equatable {
    let region: String
    let pool: String

    /// Parses `issuer`.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if `issuer` is not a Cognito user pool.
    init(_ issuer: String) throws(AgentError) {
        let parts = issuer.bytewise.split(on: "/", omittingEmpty: false)
        let labels = parts.count == 4 ? parts[2].bytewise.split(on: ".") : []
        guard labels.count == 4,
            [parts[0], parts[1], labels[0], labels[2], labels[3]].map(\.bytewise)
                == ["https:", "", "cognito-idp", "amazonaws", "com"]
        else {
            throw AgentError(
                .badRequest,
                "not the issuer of a Cognito user pool: \(issuer)",
                remedy: .set("--issuer to https://cognito-idp.REGION.amazonaws.com/POOL-ID")
            )
        }
        region = String(labels[1])
        pool = String(parts[3])
    }
}
