// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for settings, files and pages that do not fit the server.
    @Suite(.full) struct SettingRemedyTests {
        /// A setting that the server rejects.
        struct Setting: CustomTestStringConvertible, Sendable {
            /// A line of the session.
            let line: String
            /// The printed remedy, or its beginning.
            let remedy: String
            /// The line that replaces it.
            let other: String
            var testDescription: String { "\(line): \(remedy)" }
        }

        private static let login = ["login", "work", "--username", "alice", "--password-stdin"]

        /// Follows the remedy of `command` by writing the other line, and expects that it is not printed again.
        private func follow(
            _ setting: Setting,
            _ agent: AgentUnderTest,
            _ command: [String],
            input: String = ""
        ) async throws {
            let refused = try await agent.tokenctl(command, input: input)
            let printed = try #require(
                PrintedRemedy(refused, holding: setting.remedy),
                "\(refused) \(agent.log)"
            )
            #expect(printed.label == "set" && printed.text.hasPrefix(setting.remedy))
            let text = try #require(File.text(agent.configurationPath))
            let changed = text.replacing(setting.line, with: setting.other)
            try #require(changed != text)
            try agent.configure(changed)
            #expect(try await agent.tokenctl("reload").status == 0)
            let after = try await agent.tokenctl(command, input: input)
            #expect(after.status == 0 && !after.standardError.contains(printed.text), "\(after) \(agent.log)")
        }

        @Test(arguments: [
            Setting(
                line: "app_id = 1",
                remedy: "app_id, key_file or the clock of this machine",
                other: "app_id = \(GitHubDouble.appID)"
            ),
            Setting(
                line: "installation = \"other\"",
                remedy: "installation to an account that has the app installed",
                other: "installation = \"\(GitHubDouble.account)\""
            ),
            Setting(
                line: "permissions = { secrets = \"read\" }",
                remedy: "repositories and permissions to those of the installation",
                other: "permissions = { contents = \"read\" }"
            ),
        ])
        func `an app of GitHub's is corrected as it is said`(setting: Setting) async throws {
            let double = try GitHubDouble()
            let files = try TemporaryDirectory()
            let key = try files.write(double.key.privateKeyPEM, to: "app.pem", mode: 0o600)
            var lines = ["app_id = \(GitHubDouble.appID)", "installation = \"\(GitHubDouble.account)\""]
            lines.removeAll { $0.prefix(6) == setting.line.prefix(6) }
            lines.append(setting.line)
            let text = lines.joined(separator: "\n")
            let scene = try await KindScene(double.routes) { address in
                "kind = \"github_app\"\nkey_file = \"\(key)\"\napi_url = \"\(address)\"\n\(text)"
            }
            try await follow(setting, scene.agent, ["refresh", "phone"])
        }

        /// A token endpoint that reads client credentials only from the body.
        private static let bodyOnly = Route("POST", "/token") { request in
            request.header("authorization") == nil
                ? .json(["access_token": "at", "token_type": "Bearer", "expires_in": 600])
                : .failure("invalid_client", status: 401)
        }

        /// A token endpoint that reads client credentials only from the header.
        private static let headerOnly = Route("POST", "/token") { request in
            request.header("authorization") != nil
                ? .json(["access_token": "at", "token_type": "Bearer", "expires_in": 600])
                : .failure("invalid_client", status: 401)
        }

        private static let basic = "client_authentication = \"basic\""
        private static let post = "client_authentication = \"post\""

        @Test(arguments: [
            (
                "plain", bodyOnly,
                Setting(line: basic, remedy: "client_id, the client secret, or \(post)", other: post)
            ),
            ("a+b", bodyOnly, Setting(line: basic, remedy: "\(post) (some servers misread", other: post)),
            (
                "plain", headerOnly,
                Setting(line: post, remedy: "client_id, the client secret, or \(basic)", other: basic)
            ),
        ])
        func `a client secret goes to the place that is said`(
            secret: String,
            route: Route,
            setting: Setting
        ) async throws {
            let scene = try await Scene(
                session: "client_secret = \"\(secret)\"\n\(setting.line)",
                flow: "client_credentials",
                client: "demo-confidential"
            )
            scene.issuer.add(route)
            try await scene.agent.start()
            try await follow(setting, scene.agent, ["refresh", "work"])
        }

        @Test func `a key of the client is corrected as it is said`() async throws {
            let key = try SigningKey.shared()
            let scene = try await Scene(
                options: {
                    $0.registry.vouchers["demo-public"] = ClientVoucher(
                        key: key,
                        issuer: "demo-public",
                        subject: "demo-public"
                    )
                },
                session: "client_key_file = \"KEYS/config/tokenagent/wrong\"",
                flow: "client_credentials"
            )
            let home = scene.agent.home
            try home.write(key.privateKeyPEM, to: "config/tokenagent/right", mode: 0o600)
            let made = try await scene.paste(
                "umask 077; openssl genpkey -algorithm RSA >config/tokenagent/wrong"
            )
            #expect(made.status == 0, "\(made)")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("KEYS", with: home.path))
            try await scene.agent.start()
            let setting = Setting(
                line: "/wrong",
                remedy: "client_id, the key, client_key_id, or client_assertion_audience = \"issuer\"",
                other: "/right"
            )
            try await follow(setting, scene.agent, ["refresh", "work"])
        }

        @Test func `a machine without authorities is told of one, as it is said`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            let file = try scene.agent.home.write(authority.certificatePEM, to: "config/tokenagent/ca.pem")
            try await scene.agent.start(extraEnvironment: ["SSL_CERT_FILE": "/nonexistent"])
            let setting = Setting(
                line: "flow =",
                remedy: "SSL_CERT_FILE or ca_file to a file of CA certificates",
                other: "ca_file = \"\(file)\"\nflow ="
            )
            try await follow(setting, scene.agent, Self.login, input: Scene.password.input)
        }

        @Test func `a proxy gets the credentials that it demands, as it is said`() async throws {
            let authority = try CertificateAuthority()
            let proxy = try await ConnectProxy.start(credentials: "al:secret")
            let scene = try await Scene(
                options: { $0.tls = try authority.issue() },
                session:
                    "ca_file = \"FILES/config/tokenagent/ca.pem\"\nproxy = \"http://127.0.0.1:\(proxy.port)\""
            )
            let home = scene.agent.home
            try home.write(authority.certificatePEM, to: "config/tokenagent/ca.pem")
            let file = try home.write("al:secret\n", to: "config/tokenagent/credentials", mode: 0o600)
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("FILES", with: home.path))
            try await scene.agent.start()
            let setting = Setting(
                line: "flow =",
                remedy: "proxy_credentials_file to a file with USER:PASSWORD",
                other: "proxy_credentials_file = \"\(file)\"\nflow ="
            )
            try await follow(setting, scene.agent, Self.login, input: Scene.password.input)
            await proxy.stop()
        }

        @Test func `the issuer of a tenant is named, as it is said`() async throws {
            let scene = try await Scene()
            let issuer = scene.issuer.issuer
            scene.issuer.settings.metadata["issuer"] = .string("\(issuer)/{tenantid}")
            scene.issuer.settings.idTokenClaims["iss"] = .string("\(issuer)/t1")
            let document: JSONValue = [
                "issuer": .string("\(issuer)/t1"), "token_endpoint": .string("\(issuer)/token"),
                "authorization_endpoint": .string("\(issuer)/authorize"),
                "jwks_uri": .string("\(issuer)/jwks"),
            ]
            scene.issuer.add(
                Route("GET", "/t1/.well-known/openid-configuration") { _ in .json(document) }
            )
            try await scene.agent.start()
            let setting = Setting(
                line: "issuer = \"\(issuer)\"",
                remedy: "issuer to that of your own tenant, with its ID in it",
                other: "issuer = \"\(issuer)/t1\""
            )
            try await follow(setting, scene.agent, Self.login, input: Scene.password.input)
        }

        @Test func `a login succeeds once the server's metadata has been corrected, as it is said`()
            async throws
        {
            let scene = try await Scene(
                {
                    $0.metadata["require_pushed_authorization_requests"] = true
                    $0.metadata["pushed_authorization_request_endpoint"] = .null
                },
                flow: "browser"
            )
            try await scene.agent.start()
            let refused = try await scene.agent.tokenctl("login", "work")
            let remedy = "after the server's metadata has been corrected"
            #expect(PrintedRemedy(refused, holding: remedy)?.label == "retry", "\(refused)")
            scene.issuer.settings.metadata["require_pushed_authorization_requests"] = false
            let login = try await scene.agent.tokenctl("login", "work")
            #expect(login.status == 0, "\(login) \(scene.agent.log)")
        }

        @Test func `a token without a login is asked for as the server permits, as it is said`() async throws
        {
            let scene = try await Scene(
                session: "client_secret = \"demo-secret-7f3a\"",
                flow: "client_credentials",
                client: "demo-confidential"
            )
            scene.issuer.add(
                Route("POST", "/token") { request in
                    request.form["scope"]?.contains("admin") == true
                        ? .failure("invalid_scope", status: 400)
                        : .json(["access_token": "at", "token_type": "Bearer", "expires_in": 600])
                }
            )
            try await scene.agent.start()
            try await scene.follow([
                CorrectedLine(
                    line: "tokenctl get work --scope admin",
                    remedy: "Retry: with scopes and an audience that the authorization server permits",
                    followed: "tokenctl get work --scope api"
                )
            ])
        }

        @Test(arguments: [
            ("code=c&state=other", "", "with the URL of this login"),
            ("code=c", "cookies", "after deleting the cookies of the redirect URI"),
        ])
        func `a page of the browser is opened again, as it is said`(
            query: String,
            cookies: String,
            remedy: String
        ) async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            let login = try scene.agent.startTokenctl(["login", "work", "--json", "--no-browser"])
            let line = try await login.outputLine(containing: "open_url")
            let step = try #require(try JSONValue(parsing: line.utf8).object)
            let url = try #require(step["url"]?.string)
            let redirect = try #require(step["redirect_uri"]?.string)
            // curl reads the headers of the browser from a file, because they are longer than an argument may be.
            let headers = cookies.isEmpty ? "" : "Cookie: a=" + String(repeating: "c", count: 70_000)
            try scene.agent.home.write(headers, to: "headers")
            let shown = try await scene.paste("curl -s -L -H @headers '\(redirect)?\(query)'")
            #expect(shown.status == 0, "\(shown)")
            #expect(
                try await Polling.until { login.standardOutput.contains(remedy) },
                "\(login.standardOutput)"
            )
            let done = try await scene.paste("curl -s -L '\(url)'")
            #expect(done.status == 0 && !done.standardOutput.contains(remedy), "\(done)")
            #expect(try await login.finish().status == 0)
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }
    }
}
