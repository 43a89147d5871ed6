// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The keys that depend on the kind of server.
extension SessionReader {
    mutating func server(_ kind: ServerKind) -> ServerProfile.Kind? {
        if kind != .oidc, table.has("resource") { refuseResource(kind) }
        return switch kind {
        case .oidc: table.has("resource") ? resource() : issuer()
        case .oauth2: fixedEndpoints().map { .oauth2($0) }
        case .json: part(JSONBackEndReader(table, home: home)) { $0.read() }.map { .json($0) }
        case .cognito: cognito().map { .cognito($0) }
        case .command: table.commandSource().map { .command($0) }
        case .identityCenter: table.identityCenter().map { .identityCenter($0) }
        case .awsRole: part(AWSRoleReader(table)) { $0.read() }
        case .gitHubApp: table.gitHubApp(home: home).map { .gitHubApp($0) }
        }
    }

    private mutating func issuer() -> ServerProfile.Kind? {
        let metadata = table.url("metadata_url")?.description
        if !table.has("issuer") {
            table.report("issuer", "required: URL of the authorization server")
        }
        return issuerName().map { .oidc(issuer: $0, metadata: metadata) }
    }

    /// Reads the issuer: a URL, or any name if `metadata_url` is set.
    private mutating func issuerName() -> String? {
        guard let name = table.string("issuer") else { return nil }
        // Errors in a template are reported with the other errors of the server.
        let isName = table.has("metadata_url") || name.utf8.contains(UInt8(ascii: "{"))
        return isName ? name : table.url(name, of: "issuer")?.description
    }

    /// Reads a protected resource.
    ///
    /// Its metadata name the issuer, unless the session has a secret: then the issuer must be configured.
    private mutating func resource() -> ServerProfile.Kind? {
        let address = table.url("resource")
        let metadata = table.url("metadata_url")?.description
        let issuer = issuerName()
        if metadata != nil, !table.has("issuer") {
            table.report("issuer", "required: the issuer that metadata_url describes")
        }
        if table.has("resources") {
            table.report("resources", "cannot be combined with resource, which is always requested")
        }
        let others = ["reauth_command"] + ExchangeReader.subjects + AssertionGrantReader.sources
        let secrets = ClientReader.writtenProofs(in: table) + others.filter { table.has($0) }
        if !table.has("issuer"), let secret = secrets.first {
            table.report(
                "issuer",
                "required: \(secret) must not be sent to a server that the resource chooses"
            )
        }
        return address.map {
            .resource(ProtectedResource(address: $0.description, issuer: issuer, metadata: metadata))
        }
    }

    private mutating func refuseResource(_ kind: ServerKind) {
        _ = table.value("resource")
        let message = "requires kind \"oidc\", where it selects the server"
        guard kind.isStandard else { return table.report("resource", message) }
        table.report("resource", message, .set("resources to request tokens for resources"))
    }

    private mutating func fixedEndpoints() -> FixedEndpoints? {
        let issuer = table.url("issuer")
        var written = configuredEndpoints()
        if !table.has("token_endpoint") {
            if table.has("service_account_file") {
                written.token = AssertionGrant.serviceAccountEndpoint
            } else {
                table.report(
                    "token_endpoint",
                    "required: kind \"oauth2\" has no discovery"
                )
            }
        }
        return written.token.map {
            FixedEndpoints(
                token: $0,
                authorization: written.authorization,
                deviceAuthorization: written.deviceAuthorization,
                revocation: written.revocation,
                endSession: written.endSession,
                keySet: written.keySet,
                issuer: issuer?.description
            )
        }
    }

    /// Reads configured endpoints, which are all there are or replace those of the issuer's metadata.
    mutating func configuredEndpoints() -> EndpointOverrides {
        EndpointOverrides(
            token: table.url("token_endpoint")?.description,
            authorization: table.url("authorization_endpoint")?.description,
            deviceAuthorization: table.url("device_authorization_endpoint")?.description,
            revocation: table.url("revocation_endpoint")?.description,
            endSession: table.url("end_session_endpoint")?.description,
            keySet: table.url("jwks_uri")?.description
        )
    }

    private mutating func cognito() -> CognitoPool? {
        let region = table.required("region", "AWS region of the user pool, such as \"eu-west-1\"")
        let pool = table.required("user_pool_id", "ID in the AWS console, such as \"eu-west-1_abc\"")
        let endpoint = table.url("endpoint")
        let flow = table.word("auth_flow", CognitoPool.AuthFlow.self)
        let rotates = table.boolean("rotates")
        let day = Duration.seconds(86_400)
        let validity = table.duration(
            "refresh_token_validity",
            in: .seconds(3_600)...day * 3_650,
            "1h to 3650d"
        )
        guard let region, let pool else { return nil }
        return CognitoPool(
            region: region,
            userPoolID: pool,
            endpoint: endpoint?.description,
            authFlow: flow,
            rotates: rotates,
            refreshTokenValidity: validity ?? day * 30
        )
    }

    mutating func client(_ kind: ServerKind, _ flow: LoginFlow) -> ConfiguredClient? {
        part(ClientReader(table, home: home)) { $0.read(kind, flow) }
    }
}

extension TableReader {
    mutating func requiredURL(_ key: String, _ purpose: String) -> EndpointURL? {
        if !has(key) { report(key, "required: \(purpose)") }
        return url(key)
    }

    /// Reads an https URL, or a plain http URL with a literal loopback address.
    mutating func url(_ key: String) -> EndpointURL? {
        string(key).flatMap { url($0, of: key) }
    }

    /// Parses the URL in `text`, the value of `key`, and reports why it is invalid.
    mutating func url(_ text: String, of key: String) -> EndpointURL? {
        do throws(EndpointURLError) {
            return try EndpointURL(text)
        } catch {
            report(key, error.description)
            return nil
        }
    }
}
