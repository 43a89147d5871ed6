// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct LoginTests {
        @Test func `a device login approved elsewhere logs in`() async throws {
            let scene = try await Scene(flow: "device")
            try await scene.agent.start()
            let login = try scene.agent.startTokenctl(["login", "work", "--json", "--no-browser"])
            let line = try await login.outputLine(containing: "user_code")
            let step = try #require(try JSONValue(parsing: line.utf8).object)
            #expect(step["event"] == "user_code")
            #expect(step["verification_uri"]?.string == "\(scene.issuer.issuer)/device")
            let code = try #require(step["user_code"]?.string)
            #expect(try await scene.agent.status("work")["state"] == "logging_in")
            #expect(scene.issuer.decideDevice(userCode: code))
            let result = try await login.finish()
            #expect(result.status == 0)
            #expect(result.standardError.isEmpty)
            #expect(result.standardOutput.contains(#""event":"done""#))
            #expect(try await scene.isAccepted(scene.token()))
        }

        @Test func `a refused device login ends with its exit status`() async throws {
            let scene = try await Scene(flow: "device")
            try await scene.agent.start()
            let login = try scene.agent.startTokenctl(["login", "work", "--json", "--no-browser"])
            let line = try await login.outputLine(containing: "user_code")
            let code = try #require(try JSONValue(parsing: line.utf8).object?["user_code"]?.string)
            #expect(scene.issuer.decideDevice(userCode: code, denied: true))
            let result = try await login.finish()
            #expect(result.status != 0)
            #expect(result.standardOutput.contains(#""event":"failed""#))
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `a device login that is denied names the next one`() async throws {
            let scene = try await Scene(flow: "device")
            try await scene.agent.start()
            let login = try scene.agent.startTokenctl(["login", "work", "--flow", "device", "--no-browser"])
            let line = try await login.outputLine(containing: "-")
            #expect(scene.issuer.decideDevice(userCode: line, denied: true))
            let result = try await login.finish()
            #expect(result.status == 8, "\(result)")
            #expect(
                result.standardError.hasSuffix("\n  Run: tokenctl login work --flow device\n"),
                "\(result)"
            )
        }

        @Test func `an interrupted device login leaves nothing behind`() async throws {
            let scene = try await Scene(flow: "device")
            try await scene.agent.start()
            let login = try scene.agent.startTokenctl(["login", "work", "--no-browser"])
            #expect(await scene.issuer.hasReceived(1, to: "/device_authorization", within: .seconds(120)))
            login.signal(.interrupt)
            #expect(try await login.finish().status == 130)
            #expect(try await scene.agent.reaches("logged_out", "work"))
        }

        @Test(.holds("O10"), arguments: [false, true])
        func `a browser login comes back over the loopback listener`(tls: Bool) async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(
                options: { if tls { $0.tls = try authority.issue() } },
                session: tls ? #"ca_file = "/nonexistent/ca.pem""# : "",
                flow: "browser"
            )
            if tls {
                let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
                let text = try #require(File.text(scene.agent.configurationPath))
                let lines = text.split(separator: "\n").filter { !$0.hasPrefix("ca_file") }
                try scene.agent.configure(lines.joined(separator: "\n") + "\nca_file = \"\(file)\"\n")
            }
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("login", "work")
            #expect(result.status == 0, "\(result) \(scene.agent.log)")
            let request = try #require(scene.issuer.requests(to: "/authorize").first)
            #expect(request.query["code_challenge_method"] == "S256")
            #expect(request.query["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
            #expect(request.query["redirect_uri"]?.hasSuffix("/callback") == true)
            #expect(try await scene.token().split(separator: ".").count == 3)
        }

        @Test(.holds("O10"), arguments: [[], ["--paste"]], [false, true])
        func `the redirect address to register is printed, and is the one that is asked for`(
            more: [String],
            isPushed: Bool
        ) async throws {
            let scene = try await Scene({ $0.requiresPushedRequests = isPushed }, flow: "browser")
            try await scene.agent.start()
            // As a server answers that does not know the redirect address: it sends the browser nowhere.
            scene.issuer.queue(.html("<p>redirect_uri_mismatch</p>", status: 400), for: "/authorize")
            let login = try scene.agent.startTokenctl(["login", "work", "--no-browser"] + more)
            let open = try await login.outputLine(containing: "/authorize?")
            let advice = try await login.outputLine(containing: "redirect URI")
            let printed = try #require(advice.firstMatch(of: /register (\S+) for this client/)?.1)
            #expect(
                advice
                    == "If the server rejects the redirect URI, press Ctrl-C and register \(printed) for this "
                    + "client, or set redirect_port or redirect_uri."
            )
            let url = try #require(open.firstMatch(of: /http\S+/)?.0)
            let shown = try await scene.agent.shell("curl -s -o /dev/null -w '%{http_code}' '\(url)'")
            #expect(shown.line == "400")
            let asked =
                if isPushed {
                    scene.issuer.requests(to: "/par").first?.form["redirect_uri"]
                } else {
                    scene.issuer.requests(to: "/authorize").first?.query["redirect_uri"]
                }
            #expect(asked == String(printed))
            // The login does not see the browser's page, so it waits until the user ends it.
            guard more.isEmpty else { return }
            #expect(login.exitStatus == nil)
            login.signal(.interrupt)
            #expect(try await login.finish().status == 130)
        }

        @Test func `a browser login can be finished by pasting the address`() async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            let login = try await scene.agent.shell(
                Scene.pastedLogin(#"curl -s -o /dev/null -w '%{redirect_url}\n' "$url" >&9"#)
            )
            #expect(login.status == 0, "\(login) \(File.text(scene.agent.home.path("shown")) ?? "")")
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a hint says who is to log in, where the server takes it`() async throws {
            let scene = try await Scene(session: "login_hint = \"bob\"", flow: "browser")
            try await scene.agent.start()
            let login = try await scene.agent.tokenctl("login", "work")
            #expect(login.status == 0, "\(login)")
            let claims = try await scene.agent.tokenctl("claims", "work", "--id-token", "--json")
            #expect(claims.standardOutput.contains(#""sub":"bob""#), "\(claims)")
        }

        @Test func `a wrong password changes nothing`() async throws {
            let scene = try await Scene.loggedIn()
            let before = try await scene.token()
            let result = try await scene.agent.tokenctl(
                "login",
                "work",
                "--username",
                "alice",
                "--password-stdin",
                input: "wrong\n"
            )
            #expect(result.status != 0)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(!result.standardError.contains("wrong\n"))
            #expect(try await scene.token() == before)
        }

        @Test(.holds("180")) func `client credentials need no person, at first and after a refusal`()
            async throws
        {
            let scene = try await Scene(
                session: #"client_secret = "demo-secret-7f3a""#,
                flow: "client_credentials"
            )
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                text.replacing("demo-public", with: "demo-confidential")
                    .replacing(#""openid", "offline_access", "api""#, with: #""api""#)
            )
            try await scene.agent.start()
            let token = try await scene.token()
            #expect(try await scene.isAccepted(token))
            #expect(scene.issuer.tokenRequests("client_credentials") == 1)
            scene.issuer.queue(Disturbance(reply: .failure("invalid_grant")))
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(try await scene.token() == token)
            #expect(try await scene.refreshesAgain())
            // Another login gets a new token anyway.
            #expect(try await scene.agent.tokenctl("login", "work").status == 0)
            #expect(try await scene.isAccepted(scene.token()))
        }

        @Test func `a refresh token from elsewhere can be imported`() async throws {
            let scene = try await Scene(flow: "import")
            try await scene.agent.start()
            let token = scene.issuer.grantRefreshToken(
                client: "demo-public",
                user: "bob",
                scope: ["openid", "offline_access", "api"]
            )
            let typed = ["login", "work", "--refresh-token-stdin"]
            let mistyped = try await scene.agent.tokenctl(typed, input: "x\(token)\n")
            #expect(mistyped.status != 0)
            #expect(
                mistyped.standardError.contains("  Run: tokenctl \(typed.joined(separator: " "))\n"),
                "\(mistyped.standardError)"
            )
            let result = try await scene.agent.tokenctl(typed, input: token + "\n")
            #expect(result.status == 0, "\(result.standardError)")
            #expect(try await scene.isAccepted(scene.token()))
            #expect(!result.standardOutput.contains(token))
        }

        @Test(.holds("96", "O7")) func `an answer from another issuer is refused without a token request`()
            async throws
        {
            let scene = try await Scene(
                { $0.authorization = .approveAs(issuer: "https://evil.example") },
                flow: "browser"
            )
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("login", "work", within: .seconds(30))
            #expect(result.status != 0)
            #expect(scene.issuer.requests(to: "/token").isEmpty)
        }
    }
}
