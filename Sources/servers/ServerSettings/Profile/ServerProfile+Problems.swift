// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension ServerProfile.Kind {
    /// The errors that are visible without asking the server.
    ///
    /// Addresses were parsed before.
    package var problems: [ServerProfileError] {
        switch self {
        // An issuer identifier has no query (OIDC Discovery §3, RFC 8414 §2).
        case .oidc(let issuer, let metadata): Self.problems(issuer, metadata)
        case .resource(let resource):
            Self.problems("resource", of: resource.address)
                + (resource.issuer.map { Self.problems($0, resource.metadata) } ?? [])
        case .oauth2: []
        case .json(let backEnd): backEnd.problems
        case .cognito(let pool): pool.problems
        case .command, .identityCenter, .portalRole: []
        case .awsRole(let role): role.problems
        case .gitHubApp(let app): app.problems
        }
    }

    /// Returns the errors of an issuer with its metadata at `metadata`, or of an address if that is `nil`.
    private static func problems(_ issuer: String, _ metadata: String?) -> [ServerProfileError] {
        if IssuerNameRules.isTemplate(issuer) {
            guard metadata != nil else {
                return [ServerProfileError("issuer", "a template with {tenantid} requires metadata_url")]
            }
            guard IssuerNameRules.isTemplateOfTenants(issuer) else {
                return [ServerProfileError("issuer", "must not contain {…} besides one {tenantid}")]
            }
        }
        guard metadata != nil else { return problems("issuer", of: issuer) }
        guard issuer.utf8.count > EndpointURL.longest || !issuer.utf8.allSatisfy(\.isVisibleASCII) else {
            return []
        }
        return [ServerProfileError("issuer", "must be printable ASCII without blanks")]
    }

    private static func problems(_ key: String, of address: String) -> [ServerProfileError] {
        guard address.utf8.contains(UInt8(ascii: "?")) else { return [] }
        return [ServerProfileError(key, "must not contain a query (?)")]
    }
}

extension ServerProfile {
    /// The errors of the client that are visible without asking the server or reading a file.
    package var clientProblems: [ServerProfileError] { [nameProblem, secretProblem].compactMap(\.self) }

    /// The errors outside of kind and client.
    package var otherProblems: [ServerProfileError] {
        authorization.problems + scopes.compactMap(Self.scopeProblem)
            + resources.compactMap(Self.resourceProblem) + trust.problems
            + [userAgentProblem, resourcesProblem].compactMap(\.self)
            + dialect.problems(hasSecret: client.proof.secret != nil)
    }

    /// The maximum number of bytes.
    ///
    /// Real values are shorter, and servers reject long ones.
    private static let maximumUserAgentLength = 256

    /// The error in `User-Agent` (RFC 9110 §10.1.5), or `nil` if there is none.
    private var userAgentProblem: ServerProfileError? {
        guard let userAgent,
            userAgent.utf8.count > Self.maximumUserAgentLength || userAgent.utf8.first == 0x20
                || userAgent.utf8.last == 0x20 || !userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return ServerProfileError(
            "user_agent",
            "must be printable ASCII, at most \(Self.maximumUserAgentLength) bytes"
        )
    }

    /// The error of resources that cannot be sent, or `nil` if there is none.
    private var resourcesProblem: ServerProfileError? {
        guard resources.count > 1, dialect.requests.placement == .json else { return nil }
        return ServerProfileError("resources", "must be one with token_request.format = \"json\"")
    }

    private var nameProblem: ServerProfileError? {
        guard !client.id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return ServerProfileError("client_id", "must be printable ASCII")
    }

    private var secretProblem: ServerProfileError? {
        guard client.proof == .none, flow == .clientCredentials, kind.identity.kind.hasLogins else {
            return nil
        }
        return ServerProfileError(
            "flow",
            "client_credentials requires a client secret, key or assertion"
        )
    }

    /// Checks a scope (RFC 6749 §3.3 `scope-token`).
    private static func scopeProblem(_ scope: String) -> ServerProfileError? {
        guard scope.isEmpty || !scope.utf8.allSatisfy(\.isNQChar) else { return nil }
        return ServerProfileError("scopes", "\"\(scope)\" is not a scope (one scope per element)")
    }

    private static func resourceProblem(_ resource: String) -> ServerProfileError? {
        guard !resource.isAbsoluteURI else { return nil }
        return ServerProfileError("resources", "\"\(resource)\" must be an absolute URI without fragment")
    }
}

extension ServerTrust {
    fileprivate var problems: [ServerProfileError] {
        pins.filter { CertificatePin($0) == nil }.map { pin in
            let message = "\"\(pin)\" must be \"sha256/\" and the base64 of the 32 bytes of SHA-256"
            return ServerProfileError("pins", message)
        }
    }
}

extension AWSRole {
    fileprivate var problems: [ServerProfileError] {
        var problems: [ServerProfileError] = []
        if !namesRole {
            let message = "\"\(arn)\" is not a role ARN such as \"arn:aws:iam::123456789012:role/NAME\""
            problems.append(ServerProfileError("role_arn", message))
        }
        if !hasUsableSessionName {
            let message = "must be 2 to 64 letters, digits or characters of _+=,.@-"
            problems.append(ServerProfileError("role_session_name", message))
        }
        return problems
    }
}

extension CognitoPool {
    fileprivate var problems: [ServerProfileError] {
        guard AWSRegion.isName(region) else {
            return [ServerProfileError("region", "\"\(region)\" is not an AWS region, such as eu-west-1")]
        }
        guard userPoolID.hasPrefix("\(region)_") else {
            return [ServerProfileError("user_pool_id", "must begin with the region, \(region)_")]
        }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit }) else {
            return [ServerProfileError("user_pool_id", "must be the region, \"_\", and letters and digits")]
        }
        return []
    }
}
