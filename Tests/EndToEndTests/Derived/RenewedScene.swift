// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// A kind of session whose tokens are obtained with neither a password nor an authorization code.
enum RenewedKind: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case exchange
    /// An exchange of a token that itself comes from an exchange.
    case chain
    case role
    case gitHubApp = "GitHub App"
    case command
    case clientKey = "client with a key"
    case clientCertificate = "client with a certificate"
    /// A protected resource whose server registers the client.
    case resource

    var testDescription: String { rawValue }

    /// The session from which it is made.
    var source: String? {
        switch self {
        case .exchange, .role: "work"
        case .chain: "middle"
        case .gitHubApp, .command, .clientKey, .clientCertificate, .resource: nil
        }
    }

    /// The number of requests for the first token.
    var firstFetches: Int { self == .chain ? 2 : 1 }

    /// The path at which the agent serves the session's credentials.
    var path: String { self == .role ? "/v1/sessions/made/aws" : "/v1/sessions/made/token" }
}

/// An agent with the session `made` of some kind, and all servers and sessions it depends on.
struct RenewedScene {
    /// A failure of the server or program that provides the tokens.
    enum Trouble {
        /// It reports that it is temporarily unavailable.
        case busy
        /// It reports an error in the configuration.
        case refusal
    }

    let kind: RenewedKind
    let issuer: DemoIssuer
    let agent: AgentUnderTest
    private let gitHub: GitHubDouble
    /// The table of the login on which `made` depends.
    private let sources: String
    /// The tables of `made` and of the sessions between it and the login.
    private let table: String

    private static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

    /// Starts the servers and configures the agent.
    ///
    /// `more` has further lines of the session.
    init(_ kind: RenewedKind, more: String = "") async throws {
        self.kind = kind
        let key = try SigningKey(.es256)
        let authority = kind == .clientCertificate ? try CertificateAuthority() : nil
        var options = DemoIssuer.Options()
        options.settings.accessLifetime = .seconds(600)
        options.tls = try authority?.issue()
        options.clientAuthority = authority?.certificatePEM
        issuer = try await DemoIssuer.start(options)
        agent = try AgentUnderTest()
        gitHub = try GitHubDouble()
        for route in gitHub.routes + [STSDouble.route, Self.provenEndpoint(issuer, kind, key)] {
            issuer.add(route)
        }
        Self.addResource(to: issuer)
        let identity = try authority?.issue(for: ["laptop"])
        let files: [(String, String?)] = [
            ("app.pem", gitHub.key.privateKeyPEM), ("key.pem", key.privateKeyPEM),
            ("ca.pem", authority?.certificatePEM), ("client.pem", identity?.certificatePEM),
            ("client-key.pem", identity?.privateKeyPEM),
        ]
        for case (let name, let text?) in files {
            try agent.home.write(text, to: "config/tokenagent/\(name)")
        }
        sources = kind.source == nil ? "" : Scene.session("work", issuer)
        table = Self.table(of: kind, issuer, agent.home, more)
        try mend()
        try agent.configure(sources + table)
    }

    // MARK: The configuration

    private static func table(
        of kind: RenewedKind,
        _ issuer: DemoIssuer,
        _ home: TemporaryDirectory,
        _ more: String
    ) -> String {
        let directory = home.path("config/tokenagent")
        let proven = """
            kind = "oauth2"
            token_endpoint = "\(issuer.issuer)/proven/token"
            client_id = "robot"
            flow = "client_credentials"
            """
        let lines =
            switch kind {
            case .exchange, .chain: exchange(at: issuer, of: kind.source ?? "")
            case .role:
                """
                kind = "aws_role"
                role_arn = "\(STSDouble.roleARN)"
                sts_endpoint = "\(issuer.issuer)\(STSDouble.path)"
                from = "work"
                """
            case .gitHubApp:
                """
                kind = "github_app"
                app_id = \(GitHubDouble.appID)
                key_file = "\(directory)/app.pem"
                installation = \(GitHubDouble.installation)
                api_url = "\(issuer.issuer)"
                """
            case .command: "kind = \"command\"\ncommand = [\"\(home.path("tool"))\"]"
            case .clientKey: proven + "\nclient_key_file = \"\(directory)/key.pem\""
            case .clientCertificate:
                """
                \(proven)
                client_certificate_file = "\(directory)/client.pem"
                client_key_file = "\(directory)/client-key.pem"
                ca_file = "\(directory)/ca.pem"
                """
            case .resource: "resource = \"\(issuer.issuer)/mcp\""
            }
        // Both start at the same moment.
        let middle = kind == .chain ? "[session.middle]\n\(exchange(at: issuer, of: "work"))\n" : ""
        return middle + "[session.made]\n\(lines)\n\(more)\n"
    }

    private static func exchange(at issuer: DemoIssuer, of source: String) -> String {
        """
        issuer = "\(issuer.issuer)"
        client_id = "demo-confidential"
        client_secret = "demo-secret-7f3a"
        flow = "token_exchange"
        from = "\(source)"
        """
    }

    // MARK: The other end

    /// Returns a token endpoint for the client `robot`, which authenticates with `key` or with a certificate.
    private static func provenEndpoint(_ issuer: DemoIssuer, _ kind: RenewedKind, _ key: SigningKey) -> Route
    {
        Route("POST", "/proven/token") { request in
            let claims = request.form["client_assertion"].flatMap { key.claims(of: $0) }
            let isProven = kind == .clientCertificate || claims?["iss"] == "robot"
            guard isProven, request.form["grant_type"] == "client_credentials" else {
                return .failure("invalid_client", status: 401)
            }
            return .json([
                "access_token": .string(RandomText.token("at")), "token_type": "Bearer", "expires_in": 600,
            ])
        }
    }

    private static func addResource(to issuer: DemoIssuer) {
        let address = issuer.issuer
        let document: JSONObject = [
            "resource": .string("\(address)/mcp"), "authorization_servers": [.string(address)],
            "scopes_supported": ["api", "offline_access"],
        ]
        issuer.settings.metadata["registration_endpoint"] = .string("\(address)/register")
        issuer.add(
            Route("POST", "/register") { _ in
                .json(["client_id": "demo-public", "token_endpoint_auth_method": "none"], status: 201)
            }
        )
        issuer.add(Route(nil, "/mcp") { _ in IssuerResponse(status: 401) })
        issuer.add(
            Route("GET", "/.well-known/oauth-protected-resource/mcp") { _ in .json(.object(document)) }
        )
    }

    /// The number of requests for new tokens.
    var fetches: Int {
        switch kind {
        case .exchange, .chain: issuer.tokenRequests(Self.grantType)
        case .role: issuer.requests(to: STSDouble.path).count
        case .gitHubApp: gitHub.made
        case .command: (File.text(agent.home.path("runs")) ?? "").utf8.count { $0 == UInt8(ascii: "\n") }
        case .clientKey, .clientCertificate: issuer.requests(to: "/proven/token").count
        case .resource: issuer.tokenRequests("refresh_token")
        }
    }

    /// Makes the provider of the tokens fail until ``mend()``.
    func fail(_ trouble: Trouble) throws {
        guard kind != .command else { return try writeTool("exit 1") }
        let (path, grantType, refusal): (String, String?, IssuerResponse) =
            switch kind {
            case .role: (STSDouble.path, nil, STSDouble.refusal(403, "AccessDenied", "Not authorized"))
            case .gitHubApp:
                (
                    "/app/installations/\(GitHubDouble.installation)/access_tokens", nil,
                    .json(["message": "There is at least one repository that does not exist"], status: 422)
                )
            case .clientKey, .clientCertificate:
                ("/proven/token", nil, .failure("invalid_client", status: 401))
            case .exchange, .chain, .command: ("/token", Self.grantType, .failure("invalid_target"))
            case .resource: ("/token", "refresh_token", .failure("invalid_target"))
            }
        let reply = trouble == .busy ? IssuerResponse(status: 503) : refusal
        issuer.queue(Disturbance(reply: reply, grantType: grantType), for: path, times: 1_000)
    }

    /// Makes the provider of the tokens work again.
    func mend() throws {
        issuer.clearQueue()
        try writeTool("sleep 0.2; echo \"at-$$-$(wc -l <'\(agent.home.path("runs"))')\"")
    }

    private func writeTool(_ line: String) throws {
        let text = "#!/bin/sh\necho run >>'\(agent.home.path("runs"))'\n\(line)\n"
        try agent.home.write(text, to: "tool", mode: 0o700)
    }

    // MARK: The agent

    /// Starts the agent and logs in to the source of `made`, which itself has no token yet or an expired one.
    func begin() async throws {
        guard kind != .resource else { return try await beginAtResource() }
        if kind.source != nil { try agent.configure(sources) }
        try await agent.start()
        guard kind.source != nil else { return }
        try await logIn()
        issuer.forgetRequests()
        try agent.configure(sources + table)
        let reload = try await agent.tokenctl("reload")
        try #require(reload.status == 0, "\(reload) \(agent.log)")
    }

    private func beginAtResource() async throws {
        issuer.settings.accessLifetime = .seconds(1)
        try await agent.start()
        let login = try await agent.tokenctl("login", "made")
        try #require(login.status == 0, "\(login) \(agent.log)")
        try await agent.kill()
        let end = ContinuousClock.now + .milliseconds(1_050)
        _ = try await Polling.until { ContinuousClock.now >= end }
        issuer.settings.accessLifetime = .seconds(600)
        issuer.forgetRequests()
        try await agent.start()
    }

    /// Logs in to the session `work`.
    func logIn() async throws { try await agent.logIn() }

    /// Requests the credentials as a program does.
    func get() async throws -> ProgramResult {
        try await agent.tokenctl(kind == .role ? "aws" : "get", "made")
    }

    /// Returns the credentials that a program gets, and requires that the command succeeds.
    func credential(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let result = try await get()
        try #require(result.status == 0, "\(result) \(agent.log)", sourceLocation: sourceLocation)
        return result.standardOutput
    }
}
