// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// What is known of a session that is to be made, before anything is chosen for it.
struct NewSession {
    /// The scopes for a login that stays.
    static let usualScopes = ["openid", "offline_access"]

    var name: String
    var server: NewSessionServer
    var client: NewSessionClient
    /// nil: one is chosen.
    var flow: AddedFlow?
    /// Empty: those of the preset, as far as the issuer offers them.
    var scopes: [String] = []
    var redirectPort: Int?
    var redirectURI: String?
    /// The session whose token is sent for this one's.
    var source: String?
    /// Whether tokens are given for an assertion that is not another session's token.
    var hasAssertion = false
    var audience: String?
    /// The addresses that its tokens are requested for.
    var resources: [String] = []
    /// Empty: those of the preset.
    var hosts: [String] = []
    /// Keys that are written as they were given.
    var lines: [DraftLine] = []

    /// Whether tokens are given for an assertion (RFC 7523 §2.1).
    var isJWTBearer: Bool { flow == .jwtBearer || hasAssertion }

    /// Whether a login is what it gets its tokens by.
    var hasLogin: Bool { !isJWTBearer && source == nil && server.kind != .githubApp }

    /// Whether the server is asked for a client when somebody logs in.
    var isRegisteredAtLogin: Bool { server.kind.hasClients && hasLogin && client.id == nil }
}

/// The authorization server of a session that is to be made.
struct NewSessionServer {
    var preset: Preset?
    var kind = SessionKind.oidc
    /// For the kind `aws_sso`: the access portal.
    var issuer: String?
    /// Where the issuer's metadata are, if its name does not lead there.
    var metadata: String?
    /// The protected resource that names the server.
    var resource: String?
    var endpoints: [KnownEndpoint] = []
    /// The role of Amazon Web Services that is to be given for a session's token.
    var roleARN: String?
    /// nil: the issuer or the service's address says it.
    var region: String?
    /// The certificates to trust, which go beside the configuration.
    var authority: CopiedAuthority?

    /// What the server offers; nil where none publishes that.
    ///
    /// The agent looks at it: it has the network, this program has not.
    func examined(
        by endpoint: AgentEndpoint,
        for name: String
    ) throws(AgentError) -> ExaminationMessage? {
        guard kind == .oidc else { return nil }
        var body = JSONBody<ExamineMembers>()
        if let issuer { body.add(\.issuer, issuer) }
        if let metadata { body.add(\.metadata, metadata) }
        if let resource { body.add(\.resource, resource) }
        if let authority { body.add(\.caFile, authority.path) }
        let request = AgentRequest(.post, "examine", body: body.finished())
        do throws(AgentError) {
            let offer: ExaminationMessage = try endpoint.message(request)
            return offer
        } catch {
            throw error.about(self, for: name)
        }
    }

    /// Takes the issuer as its own document spells it, with which everything else of the server is compared.
    ///
    /// - Returns: what a person should know of that, or `nil` if nothing has changed.
    mutating func adoptSpelling(of offer: ExaminationMessage?) -> String? {
        guard resource == nil, let named = offer?.issuer, named.bytewise != issuer?.bytewise else {
            return nil
        }
        defer { issuer = named }
        guard let issuer else { return "The issuer is \(named), as the document at --metadata-url says" }
        return "The issuer spells its name \(named), which is written in place of \(issuer)"
    }
}

extension AgentError {
    /// Why a server cannot be looked at, with what a person can do about it.
    fileprivate func about(_ server: NewSessionServer, for name: String) -> AgentError {
        var error = self
        guard error.remedy == nil, error.retryAfter == nil else { return error }
        let isIssuer = server.resource == nil
        let place = isIssuer ? "the issuer" : "the address"
        if code == .temporarilyUnavailable { error.remedy = "correct \(place), or try again later" }
        if code == .misconfigured, server.authority == nil {
            // What cannot say whose tokens it takes is a resource for which tokens of a known issuer are requested.
            let resource = server.resource.map { "--resource \(ShellWord.quoted($0))" }
            error.remedy =
                resource.map { "correct the address, or use tokenctl add \(name) --issuer URL \($0)" }
                ?? "correct the issuer; a server without metadata is --kind oauth2 with its endpoints"
        }
        return error
    }
}

/// The client of a session that is to be made, and what it proves itself by.
struct NewSessionClient {
    /// nil: the server registers one at the first login.
    var id: String?
    var secretFile: String?
    /// The agent keeps it, sealed.
    var givesSecret = false
    var keyFile: String?
    var keyID: String?
    var certificateFile: String?
    /// How it proves itself; nil: by what it has.
    var authentication: ClientArguments.Authentication?

    /// What it has, and the words of an examination of which the issuer has to name one for it.
    var proof: (words: String, ways: [String]) {
        if certificateFile != nil { return ("with a certificate", ["tls"]) }
        if keyFile != nil { return ("with a key", ["private_key_jwt"]) }
        if secretFile != nil || givesSecret {
            return ("with a secret", ["basic", "post", "client_secret_jwt"])
        }
        return ("without a secret", ["none"])
    }
}

/// The region and the pool that the issuer of an Amazon Cognito user pool is made of.
struct CognitoIssuer: Equatable {
    let region: String
    let pool: String

    /// - Throws: ``AgentError`` with the code `badRequest` if `issuer` is another server's.
    init(_ issuer: String) throws(AgentError) {
        let parts = issuer.bytewise.split(on: "/", omittingEmpty: false)
        let labels = parts.count == 4 ? parts[2].bytewise.split(on: ".") : []
        guard labels.count == 4,
            [parts[0], parts[1], labels[0], labels[2], labels[3]].map(\.bytewise)
                == ["https:", "", "cognito-idp", "amazonaws", "com"]
        else {
            throw AgentError(
                .badRequest,
                "\(issuer) is not the issuer of a user pool",
                remedy: "it looks like https://cognito-idp.REGION.amazonaws.com/POOL-ID"
            )
        }
        region = String(labels[1])
        pool = String(parts[3])
    }
}
