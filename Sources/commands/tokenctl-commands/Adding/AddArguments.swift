// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc

/// The argument of `--provider`, whose file is read once.
struct ProviderArgument: ExpressibleByArgument {
    let name: String
    /// The kind of the provider's servers, or `nil` if no provider of this user has the name.
    let kind: NewSessionServerKind?

    init(argument: String) {
        name = argument
        kind = try? Provider.ifKnown(argument)?.kind
    }
}

/// The options for the authorization server of a new session.
struct ServerArguments: ParsableArguments {
    @Option(
        name: [.customLong("provider"), .customLong("preset")],
        help: ArgumentHelp("A provider, as tokenctl providers lists them.", valueName: "name"),
        completion: .custom { _, _, _ in (try? Provider.list().providers?.compactMap(\.name)) ?? [] }
    )
    var provider: ProviderArgument?

    @Option(
        name: .customLong("value"),
        help: ArgumentHelp("A value that the provider needs; repeatable.", valueName: "name=text")
    )
    var values: [NamedValue] = []

    @Option(help: "The kind of server.")
    var kind: NewSessionServerKind?

    @Option(
        help: ArgumentHelp("The issuer URL of the server, or the access portal.", valueName: "url")
    )
    var issuer: String?

    @Option(
        name: .customLong("metadata-url"),
        help: ArgumentHelp("The URL of the issuer's metadata, if not at the usual path.", valueName: "url")
    )
    var metadata: String?

    @Option(
        name: .customLong("url"),
        help: ArgumentHelp("A protected resource that names its authorization server.", valueName: "url")
    )
    var resource: String?

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp("The certificates of a private CA.", valueName: "file")
    )
    var caFile: String?

    @Option(
        name: .customLong("token-endpoint"),
        help: ArgumentHelp("The token endpoint, for --kind oauth2.", valueName: "url")
    )
    var tokenEndpoint: String?

    @Option(
        name: .customLong("authorization-endpoint"),
        help: ArgumentHelp("The authorization endpoint, for --kind oauth2.", valueName: "url")
    )
    var authorizationEndpoint: String?

    @Option(
        name: .customLong("device-authorization-endpoint"),
        help: ArgumentHelp("The device authorization endpoint, for --kind oauth2.", valueName: "url")
    )
    var deviceAuthorizationEndpoint: String?

    @Option(
        name: .customLong("revocation-endpoint"),
        help: ArgumentHelp("The endpoint that revokes tokens (RFC 7009).", valueName: "url")
    )
    var revocationEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "The URL of the service, for --kind cognito, aws_role or github_app.",
            valueName: "url"
        )
    )
    var endpoint: String?

    @Option(
        name: .customLong("role-arn"),
        help: ArgumentHelp("The AWS role to assume with the token of --from.", valueName: "arn")
    )
    var roleARN: String?

    @Option(help: ArgumentHelp("The AWS region, for --kind aws_role or aws_sso.", valueName: "region"))
    var region: String?

    /// The kind that was given or that other options imply.
    var kindMeant: NewSessionServerKind { kind ?? (roleARN == nil ? provider?.kind ?? .oidc : .awsRole) }

    /// The configuration key for ``endpoint``.
    private var endpointKey: String {
        switch kindMeant {
        case .awsRole: "sts_endpoint"
        case .githubApp: "api_url"
        case .oidc, .oauth2, .json, .cognito, .awsSSO: "endpoint"
        }
    }

    /// The endpoints that were given, with their configuration keys.
    var endpoints: [ServerEndpointSetting] {
        let given = [
            ("token_endpoint", tokenEndpoint), ("authorization_endpoint", authorizationEndpoint),
            ("device_authorization_endpoint", deviceAuthorizationEndpoint),
            ("revocation_endpoint", revocationEndpoint), (endpointKey, endpoint),
        ]
        return given.compactMap { key, address in address.map { ServerEndpointSetting(key, $0) } }
    }

    /// Whether the options identify the server.
    var namesServer: Bool {
        provider != nil || issuer != nil || metadata != nil || resource != nil || !kindMeant.hasIssuer
    }

    func validate() throws {
        let kind = kindMeant
        guard kind != .json || provider != nil else {
            throw ValidationError("--kind json requires --provider")
        }
        let written = endpoints.filter { $0.key != endpointKey }
        if let other = written.first(where: { $0.key != "revocation_endpoint" }), kind != .oauth2 {
            throw ValidationError("\(other.option) requires --kind oauth2")
        }
        guard revocationEndpoint == nil || kind.isStandard else {
            throw ValidationError("--revocation-endpoint requires --kind oidc or oauth2")
        }
        guard endpoint == nil || [.cognito, .awsRole, .githubApp].contains(kind) else {
            throw ValidationError("--endpoint requires --kind cognito, aws_role or github_app")
        }
        guard resource == nil || provider == nil && kind == .oidc else {
            throw ValidationError("--url requires --kind oidc and cannot be combined with --provider")
        }
        guard metadata == nil || kind == .oidc && resource == nil else {
            throw ValidationError("--metadata-url requires --kind oidc and cannot be combined with --url")
        }
        guard (roleARN != nil) == (kind == .awsRole), roleARN == nil || provider == nil else {
            throw ValidationError(
                "--role-arn and --kind aws_role require each other and cannot be combined with --provider"
            )
        }
        guard region == nil || kind.hasRegion else {
            throw ValidationError("--region requires --kind aws_role or aws_sso")
        }
        try ClientArguments.check([("--ca-file", caFile.map(AbsolutePath.orGiven))])
    }
}

extension ServerEndpointSetting {
    /// The option for this endpoint.
    fileprivate var option: String { ServerEndpointSetting.option(giving: key) }

    /// Returns the option for the endpoint `key`.
    static func option(giving key: String) -> String { "--" + String(key.map { $0 == "_" ? "-" : $0 }) }
}

/// The options for the client of a new session and its authentication.
struct ClientArguments: ParsableArguments {
    @Option(
        name: .customLong("client-id"),
        help: ArgumentHelp("The ID of the client registered at the server.", valueName: "id")
    )
    var id: String?

    @Option(
        name: .customLong("client-secret-file"),
        help: ArgumentHelp("A file with the client secret.", valueName: "file")
    )
    var secretFile: String?

    @Flag(
        name: .customLong("client-secret-stdin"),
        help: "Read the client secret from standard input; the agent stores it encrypted."
    )
    var readsSecret = false

    @Option(
        name: .customLong("client-key-file"),
        help: ArgumentHelp("A file with the client's private key.", valueName: "file")
    )
    var keyFile: String?

    @Option(
        name: .customLong("client-key-id"),
        help: ArgumentHelp("The ID of that key at the server.", valueName: "id")
    )
    var keyID: String?

    @Option(
        name: .customLong("client-certificate-file"),
        help: ArgumentHelp("A file with the client's certificate.", valueName: "file")
    )
    var certificateFile: String?

    @Option(
        name: .customLong("client-authentication"),
        help: ArgumentHelp("The client authentication method.", valueName: "way")
    )
    var authentication: AuthenticationMethod?

    /// Whether the client has credentials, and so is already registered.
    var hasProof: Bool { secretFile != nil || readsSecret || keyFile != nil || certificateFile != nil }

    func validate() throws {
        guard secretFile == nil || !readsSecret else {
            throw ValidationError("--client-secret-file cannot be combined with --client-secret-stdin")
        }
        try ClientArguments.check([
            ("--client-secret-file", secretFile), ("--client-key-file", keyFile),
            ("--client-certificate-file", certificateFile),
        ])
    }

    /// The values of `client_authentication`.
    enum AuthenticationMethod: String, CaseIterable, ExpressibleByArgument {
        case automatic
        case basic
        case post
        case clientSecretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
        case tls
    }

    /// Checks the files that options name.
    static func check(_ files: [(option: String, path: String?)]) throws {
        for (option, path) in files {
            guard let objection = path.flatMap({ ClientArguments.objection(to: $0) }) else { continue }
            throw ValidationError("\(option): \(objection)")
        }
    }

    /// Returns the reason why the configuration cannot name the file at `path` as a clause, or `nil` if it
    /// can.
    static func objection(to path: String) -> String? {
        guard path.hasPrefix("/") else { return "\(path) is not an absolute path" }
        guard unsafe access(path, R_OK) == 0 else { return "\(path): \(systemMessage(errno))" }
        return nil
    }
}
