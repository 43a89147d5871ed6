// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentSettings

/// `keys` inside an otherwise complete session, on the lines from 5 on.
private func session(_ keys: String) -> String {
    "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n" + keys
}

struct SettingsReaderTests {
    private static let completeFile = """
        [agent]
        refresh_before = "4m"
        min_validity = "20s"
        get_timeout = "10s"
        log_level = "debug"
        [hooks]
        login_required = ["notify-send", "tokenagent"]
        event = []
        confirm = ["ask"]
        [vault]
        keyfile = "~/keys/tokenagent"
        require_locked_memory = true
        rollback_counter = ["tpm-rollback-counter", "0x1500016"]
        rollback_counter_accept = 7
        [session.work]
        kind = "oidc"
        issuer = "https://id.example.com"
        client_id = "cli"
        client_secret_command = ["pass", "show", "cli"]
        client_authentication = "post"
        scopes = ["openid", "offline_access"]
        flow = "device"
        redirect_port = 8400
        hosts = ["oauth2@git.example.com", "*.example.org"]
        audience = "api"
        resources = ["https://api.example.com/"]
        ca_file = "/etc/ssl/private.pem"
        pins = ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        max_session_age = "30d"
        warn_before = "3d"
        refresh_before = "1m"
        reauth = ["command", "prompt"]
        reauth_command = ["fprintd-verify"]
        allow = [{ exe = "/usr/bin/git" }, { unit = "backup.service", confirm = true }]
        """

    private static let otherKinds = """
        [session.github]
        kind = "oauth2"
        client_id = "x"
        token_endpoint = "https://gh.example/token"
        device_authorization_endpoint = "https://gh.example/device"
        [session.phone]
        kind = "json"
        login_url = "https://api.example/login"
        refresh_url = "https://api.example/refresh"
        logout_url = "https://api.example/logout"
        preset = "signaling"
        fields = { refresh_token = "token" }
        keep = ["userId"]
        refresh_on = ["too_old"]
        logout_on = ["token_revoked"]
        logout_refresh_token = true
        logout_on_second_refusal = true
        [session.aws]
        kind = "cognito"
        region = "eu-west-1"
        user_pool_id = "eu-west-1_abc"
        client_id = "y"
        endpoint = "http://127.0.0.1:5000"
        auth_flow = "password"
        rotates = true
        """

    @Test(
        arguments: [
            ("", LifetimeUnit.seconds), ("expires_in_unit = \"s\"", .seconds),
            ("expires_in_unit = \"ms\"", .milliseconds),
        ]
    )
    func `the unit of lifetimes reaches the server's profile`(key: String, unit: LifetimeUnit) throws {
        let configured = try #require(try read(session(key)).sessions.first)
        #expect(configured.profile { _ in SecretID(rawValue: 0) }.dialect.responses.lifetimeUnit == unit)
        let endpoints = "kind = \"oauth2\"\nclient_id = \"c\"\ntoken_endpoint = \"https://id.example/t\"\n"
        let text = "[session.o]\n\(endpoints)flow = \"import\"\n\(key)\n"
        let other = try #require(try read(text).sessions.first)
        #expect(other.profile { _ in SecretID(rawValue: 0) }.dialect.responses.lifetimeUnit == unit)
    }

    @Test func `how a server differs reaches the server's profile`() throws {
        let keys = """
            scope_separator = ","
            pkce = false
            login_over = ["gone"]
            token_parameters = { account_id = "7" }
            refresh_parameters = { redirect_uri = "https://x.example/" }
            grant_type = "account_credentials"
            keep = ["instance_url"]
            token_request = { format = "json", headers = { X-App = "a" }, names = { client_id = "key" } }
            authorization_names = { client_id = "app" }
            redirect_name = "my-app"
            callback = { code = "authCode", keep = ["realmId"] }
            refresh_endpoint = "https://id.example/refresh"
            envelope = "data"
            login_envelope = "meta"
            fields = { access_token = "at", id_token = "idt", scope = "rights", token_type = "sort" }
            error_code = "error.code"
            success = { member = "status", value = 0 }
            lifetime = { zero = "never", assumed = "1h" }
            revocation = { endpoint = "https://id.example/apps/{client_id}", method = "DELETE", token = "access_token", format = "json", name = "access_token", parameters = { id = "{client_id}" }, authorization = "Client {client_secret}" }
            """
        let configured = try #require(try read(session(keys)).sessions.first)
        let dialect = configured.profile { _ in SecretID(rawValue: 0) }.dialect
        #expect(
            dialect.responses.scopeSeparator == .comma && !dialect.usesPKCE
                && dialect.loginOverCodes == ["gone"]
        )
        #expect(dialect.tokenParameters == ["account_id": "7"])
        #expect(dialect.refreshParameters == ["redirect_uri": "https://x.example/"])
        #expect(
            dialect.clientGrantType == "account_credentials"
                && dialect.responses.keptMembers == ["instance_url"]
        )
        #expect(dialect.requests.placement == .json && dialect.requests.headers == ["X-App": "a"])
        #expect(dialect.requests.names == ["client_id": "key"])
        #expect(dialect.redirects.names == ["client_id": "app"] && dialect.redirects.redirectName == "my-app")
        #expect(dialect.redirects.code == "authCode" && dialect.redirects.keptParameters == ["realmId"])
        #expect(dialect.renewalURL == "https://id.example/refresh")
        let responses = dialect.responses
        #expect(responses.envelope == JSONPath(["data"]) && responses.loginEnvelope == JSONPath(["meta"]))
        #expect(responses.names.tokens == ["at", "refresh_token", "idt"])
        #expect(responses.names.scope == "rights" && responses.names.tokenType == "sort")
        #expect(responses.errorCode == JSONPath(["error", "code"]))
        #expect(responses.success == TokenResponseFormat.SuccessMark(try #require(JSONPath(["status"])), "0"))
        #expect(responses.zeroMeansNever && responses.assumedLifetime == .seconds(3600))
        #expect(dialect.revocation?.address(of: "t", client: "a/b") == "https://id.example/apps/a%2Fb")
        #expect(dialect.revocation?.parameters == ["id": "{client_id}"])
        #expect(dialect.revocation?.authorization == "Client {client_secret}")
        #expect(configured.endings == ["https://id.example"])
    }

    @Test func `a token that is prolonged takes the place of a refresh token`() throws {
        let keys = """
            client_secret = "s"
            [session.work.prolong]
            endpoint = "https://graph.example/refresh"
            parameters = { grant_type = "prolong", token = "{access_token}" }
            [session.work.prolong.first]
            endpoint = "https://graph.example/first"
            method = "POST"
            parameters = { secret = "{client_secret}", token = "{access_token}" }
            """
        let configured = try #require(try read(session(keys)).sessions.first)
        let dialect = configured.profile { _ in SecretID(rawValue: 0) }.dialect
        #expect(
            dialect.renewalURL == "https://graph.example/refresh" && dialect.responses.prolongsAccessToken
        )
        let prolonging = try #require(dialect.prolonging)
        #expect(prolonging.request.usesGet && prolonging.first?.usesGet == false)
    }

    @Test(arguments: [
        "scope_separator = \";\"", "pkce = \"no\"", "token_parameters = { code = \"x\" }",
        "token_parameters = { redirect_uri = \"x\" }", "refresh_parameters = { refresh_token = \"x\" }",
        "token_parameters = { n = 1 }", "keep = [\"refresh_token\"]", "login_over = \"x\"",
        "token_request = { format = \"xml\" }", "token_request = { headers = { Host = \"x\" } }",
        "token_request = { headers = { X-A = \"x\", x-a = \"y\" } }",
        "token_request = { names = { id = \"x\" } }",
        "token_request = { names = { client_id = \"x\", code = \"x\" } }", "token_request = { name = {} }",
        "authorization_names = { code = \"x\" }", "callback = { keep = [\"state\"] }",
        "callback = { code = \"auth\", keep = [\"auth\"] }", "refresh_endpoint = \"http://id.example/\"",
        "fields = { access_token = \"x\", scope = \"x\" }", "fields = { username = \"x\" }",
        "success = { member = \"ok\" }", "success = { member = \"ok\", value = [1] }",
        "success = { value = 1 }",
        "lifetime = { zero = \"x\" }", "lifetime = { assumed = \"0s\" }", "lifetime = { unit = \"s\" }",
        "prolong = { endpoint = \"https://id.example/\", parameters = { a = \"b\" } }", "prolong = {}",
        "revocation = { endpoint = \"https://id.example/{token}\" }",
        "prolong = { endpoint = \"https://x.example/\", parameters = { a = \"{access_token}\", b = \"{client_secret}\" } }",
        "revocation = { endpoint = \"https://id.example/\", method = \"GET\" }",
        "revocation = { endpoint = \"http://id.example/\" }",
        "revocation = { endpoint = \"https://{client_id}.id.example/\" }",
        "token_request = { names = { client_id = \"client_secret\" } }",
        "token_request = { format = \"json\" }\nresources = [\"https://a.example\", \"https://b.example\"]",
        "revocation = { endpoint = \"https://id.example/\", format = \"path\" }",
        "revocation = { endpoint = \"https://id.example/\", format = \"bearer\", parameters = { a = \"b\" } }",
        "revocation = { endpoint = \"https://id.example/\", format = \"bearer\", authorization = \"a\" }",
        "revocation = { endpoint = \"https://id.example/\", authorization = \"a\\nb\" }",
        "revocation = { endpoint = \"https://id.example/\", parameters = { token = \"b\" } }",
    ])
    func `a difference that is none is a mistake`(key: String) {
        #expect(complaints(session(key)).count == 1, "\(complaints(session(key)))")
    }

    @Test func `a unit of lifetimes that is none is a mistake`() {
        #expect(complaints(session("expires_in_unit = \"min\"")).count == 1)
    }

    /// The tables after the session, and whether a login without an ID token is of no use.
    @Test(
        arguments: [
            ("", "", false), ("id_token = \"optional\"", "", false), ("id_token = \"required\"", "", true),
            ("", "[[file]]\npath = \"/run/t\"\nsession = \"work\"", false),
            ("", "[[file]]\npath = \"/run/t\"\nsession = \"work\"\nid_token = true", true),
            ("id_token = \"optional\"", role, true),
            ("", role + "subject_token_type = \"access_token\"", false),
            ("", "[session.x]\n\(exchange)subject_token_type = \"id_token\"", true),
            ("", "[session.x]\n\(exchange)", false),
        ]
    )
    func `a login must bring the ID token that is given out or exchanged`(
        keys: String,
        tables: String,
        isRequired: Bool
    ) throws {
        let settings = try read(session(keys + "\n" + tables + "\n"))
        let work = try #require(settings.sessions.first { $0.name.description == "work" })
        #expect(work.profile { _ in SecretID(rawValue: 0) }.requiresIDToken == isRequired)
        for other in settings.sessions where other.name != work.name {
            #expect(!other.profile { _ in SecretID(rawValue: 0) }.requiresIDToken)
        }
    }

    private static let role = """
        [session.deploy]
        kind = "aws_role"
        role_arn = "arn:aws:iam::123456789012:role/deploy"
        from = "work"
        region = "eu-west-1"

        """

    private static let exchange = """
        issuer = "https://id.example"
        client_id = "cli"
        flow = "token_exchange"
        from = "work"

        """

    @Test(arguments: [("", false), ("dpop = true", true), ("dpop = false", false)])
    func `tokens are bound to a key where the session says so`(line: String, binds: Bool) throws {
        let session = try #require(try read(session(line)).sessions.first)
        #expect(session.bindsTokens == binds)
        #expect(session.profile { _ in SecretID(rawValue: 0) }.bindsTokens == binds)
    }

    @Test(arguments: [("", nil), ("prompt = \"\"", ""), ("prompt = \"login consent\"", "login consent")])
    func `what the server is asked to do is as the session says`(line: String, prompt: String?) throws {
        let read = try #require(try read(session(line)).sessions.first)
        #expect(read.authorization.prompt == prompt)
        #expect(read.profile { _ in SecretID(rawValue: 1) }.authorization.prompt == prompt)
    }

    @Test func `the metadata may be elsewhere than the issuer's name leads, which may then be any name`()
        throws
    {
        let address = "https://id.example/p/.well-known/openid-configuration?p=signin"
        let keys = "issuer = \"acme.com\"\nmetadata_url = \"\(address)\"\nclient_id = \"c\""
        let work = try #require(try read("[session.work]\n\(keys)").sessions.first)
        #expect(work.server == .oidc(issuer: "acme.com", metadata: address))
        #expect(work.issuerShown == "acme.com" && work.fleetBinding.endpoint == address)
        // Its tokens are not for a server that another document describes.
        let other = try #require(
            try read("[session.work]\n\(keys.replacing("signin", with: "reset"))").sessions.first
        )
        #expect(work.fingerprint != other.fingerprint)
        let resource = "resource = \"https://api.example/mcp\"\n"
        let named = try #require(try read("[session.work]\n\(resource)\(keys)").sessions.first)
        let expected = ProtectedResource(
            address: "https://api.example/mcp",
            issuer: "acme.com",
            metadata: address
        )
        #expect(named.server == .resource(expected))
    }

    @Test func `a session may name its program to its servers, and all may`() throws {
        let agent = "[agent]\nuser_agent = \"all\"\n"
        for (text, expected) in [
            (session(""), nil), (agent + session(""), "all"),
            (agent + session("user_agent = \"mine\""), "mine"),
        ] as [(String, String?)] {
            let read = try #require(try read(text).sessions.first)
            #expect(
                read.userAgent == expected
                    && read.profile { _ in SecretID(rawValue: 1) }.userAgent == expected
            )
        }
    }

    @Test func `endpoints may stand beside an issuer`() throws {
        let keys = """
            device_authorization_endpoint = "https://id.example/device"
            jwks_uri = "https://keys.example/jwks"
            """
        let read = try #require(try read(session(keys)).sessions.first)
        let written = EndpointOverrides(
            deviceAuthorization: "https://id.example/device",
            keySet: "https://keys.example/jwks"
        )
        #expect(read.server == .oidc(issuer: "https://id.example"))
        #expect(read.endpoints == written)
        #expect(read.profile { _ in SecretID(rawValue: 1) }.endpoints == written)
    }

    @Test func `an empty file is a configuration without sessions`() throws {
        #expect(try read("") == Settings())
    }

    @Test func `every key of a standard session is read`() throws {
        let settings = try read(
            Self.completeFile
        )
        #expect(settings.logLevel == .debug)
        #expect(
            settings.hooks
                == HookSettings(loginRequired: ["notify-send", "tokenagent"], event: [], confirm: ["ask"])
        )
        #expect(
            settings.vault
                == VaultSettings(
                    keyFile: "/home/me/keys/tokenagent",
                    requiresLockedMemory: true,
                    rollbackCounter: ["tpm-rollback-counter", "0x1500016"],
                    acceptedCounter: 7
                )
        )
        let work = try #require(settings.sessions.first)
        #expect(work.name.description == "work")
        #expect(work.server == .oidc(issuer: "https://id.example.com"))
        #expect(work.client.secret == .command(["pass", "show", "cli"]))
        #expect(work.client.authentication == .post)
        #expect(work.scopes == ["openid", "offline_access"])
        #expect(work.flow == .device)
        #expect(work.authorization.redirect == .port(8400))
        #expect(work.hosts == ["oauth2@git.example.com", "*.example.org"])
        #expect(work.audience == "api")
        #expect(work.resources == ["https://api.example.com/"])
        #expect(work.trust.caFile == "/etc/ssl/private.pem")
        #expect(work.trust.pins.count == 1)
        #expect(work.policy.refreshBefore == .seconds(60))
        #expect(work.policy.minimumValidity == .seconds(20))
        #expect(work.policy.getTimeout == .seconds(10))
        #expect(work.policy.maximumSessionAge == .seconds(30 * 86_400))
        #expect(work.policy.warnBefore == .seconds(3 * 86_400))
        #expect(work.reauthentication == [.command, .prompt])
        #expect(work.policy.noninteractiveLogins == [.command])
        #expect(work.reauthenticationCommand == ["fprintd-verify"])
        #expect(
            work.rules == [
                AllowRule(executable: "/usr/bin/git"),
                AllowRule(unit: "backup.service", asksForConfirmation: true),
            ]
        )
    }

    @Test func `a rule can name the digest of its program`() throws {
        let digest = String(repeating: "0aF9", count: 16)
        let work = try read(session("allow = [{ exe = \"/usr/bin/git\", sha256 = \"\(digest)\" }]")).sessions
            .first
        #expect(work?.rules == [AllowRule(executable: "/usr/bin/git", digest: digest.lowercased())])
    }

    @Test func `sockets are read with their defaults`() throws {
        let text =
            session("") + """
                [[socket]]
                path = "~/remote.sock"
                sessions = ["work"]
                scopes = ["mail", "calendar"]
                audiences = ["https://api.example.com"]
                [[socket]]
                path = "/run/shared/agent.sock"
                sessions = ["work"]
                mode = "0660"
                group = "4711"
                users = ["root", "1001"]
                answer = "token"
                """
        let work = try #require(SessionName("work"))
        #expect(
            try read(text).sockets == [
                RestrictedSocketSettings(
                    path: "/home/me/remote.sock",
                    sessions: [work],
                    scopes: ["mail", "calendar"],
                    audiences: ["https://api.example.com"],
                    mode: 0o600,
                    group: nil,
                    users: []
                ),
                RestrictedSocketSettings(
                    path: "/run/shared/agent.sock",
                    sessions: [work],
                    mode: 0o660,
                    group: 4711,
                    users: [0, 1001],
                    answer: .token
                ),
            ]
        )
    }

    @Test func `root and the audit log are as the file says`() throws {
        let plain = try read("")
        #expect(!plain.allowsRoot && plain.keepsAudit)
        let changed = try read("[agent]\nallow_root = true\naudit = false\n")
        #expect(changed.allowsRoot && !changed.keepsAudit)
    }

    @Test(.holds("O1")) func `a session needs little`() throws {
        let work = try #require(try read(session("")).sessions.first)
        #expect(work.policy == SessionPolicy())
        #expect(work.flow == .browser && work.client.secret == .none)
        #expect(work.reauthentication == [.prompt])
        #expect(work.rules.isEmpty)
    }

    @Test func `the other kinds are read`() throws {
        let settings = try read(
            Self.otherKinds
        )
        let endpoints = FixedEndpoints(
            token: "https://gh.example/token",
            deviceAuthorization: "https://gh.example/device"
        )
        var rules = JSONBackEndDialect()
        rules.responses.names.refreshToken = "token"
        rules.responses.keptMembers = ["userId"]
        rules.refreshCodes = ["too_old"]
        rules.logoutCodes = ["token_revoked"]
        rules.logoutSendsRefreshToken = true
        rules.endsWithSecondRefusal = true
        let phone = JSONBackEnd(
            loginURL: "https://api.example/login",
            refreshURL: "https://api.example/refresh",
            logoutURL: "https://api.example/logout",
            rules: rules
        )
        let aws = CognitoPool(
            region: "eu-west-1",
            userPoolID: "eu-west-1_abc",
            endpoint: "http://127.0.0.1:5000",
            authFlow: .password,
            rotates: true
        )
        #expect(settings.sessions.map(\.server) == [.oauth2(endpoints), .json(phone), .cognito(aws)])
        #expect(settings.sessions[1].server.settings.resourceErrors.refreshCodes == ["too_old"])
        #expect(settings.sessions[1].server.settings.resourceErrors.logoutCodes == ["token_revoked"])
        #expect(
            settings.sessions.map(\.server.settings.resourceErrors.endsWithSecondRefusal) == [
                false, true, false,
            ]
        )
        #expect(settings.sessions[1].server.settings.resourceErrors.paths.loginDemand == "requiresReauth")
        #expect(settings.sessions.map(\.flow) == [.browser, .password, .password])
    }

    @Test(.holds("O1", "O30"))
    func `a kind that is not written is oidc, and another kind may name its issuer`() throws {
        let settings = try read(
            """
            [session.a]
            issuer = "https://id.example"
            client_id = "c"
            [session.b]
            kind = "oauth2"
            issuer = "https://id.example"
            token_endpoint = "https://id.example/token"
            client_id = "c"
            """
        )
        #expect(settings.sessions.map { $0.server.word } == [.oidc, .oauth2])
        #expect(settings.sessions.map(\.issuerShown) == ["https://id.example", "https://id.example"])
    }

    @Test func `the fingerprint changes with the server and the client only`() throws {
        func fingerprint(_ text: String) throws -> String? { try read(text).sessions.first?.fingerprint }
        let base = try fingerprint(session(""))
        #expect(try fingerprint(session("scopes = [\"a\"]\nmax_session_age = \"1d\"")) == base)
        #expect(try fingerprint(session("").replacing("\"cli\"", with: "\"cli2\"")) != base)
        #expect(try fingerprint(session("").replacing("id.example", with: "evil.example")) != base)
    }

    @Test func `a profile carries everything the client needs and no secret in the clear`() throws {
        let keys = "client_secret = \"s3cret\"\nscopes = [\"openid\"]\nredirect_port = 1\n"
        let settings = try read(session(keys))
        var sealed: [String] = []
        let profile = try #require(
            try settings.sessions.first?.profile { text throws(CancellationError) in
                sealed.append(text)
                return SecretID(rawValue: 9)
            }
        )
        #expect(sealed == ["s3cret"])
        #expect(profile.client.proof == .secret(.sealed(SecretID(rawValue: 9)), .automatic))
        #expect(profile.kind == .oidc(issuer: "https://id.example"))
        #expect(profile.authorization.redirect == .port(1))
    }
}
