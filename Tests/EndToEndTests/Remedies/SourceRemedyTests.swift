// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

private let isOff: Comment = "only root can show the agent another list of authorities"
private let isMissing: Comment =
    "the stand-in for IAM Identity Center is not here; set TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// Remedies for tokens that are made from something else: a key of Google, a job, a login at AWS.
    @Suite(.full) struct SourceRemedyTests {
        struct Account: CustomTestStringConvertible, Sendable {
            /// Words of the remedy.
            let remedy: String
            var tokenURI = "https://oauth2.googleapis.com/token"
            var writesEndpoint = true
            /// The fault of the file.
            let spoiled: @Sendable (_ file: String) -> String
            var testDescription: String { remedy }
        }

        @Test(arguments: [
            Account(remedy: "service_account_file to the JSON file of a key that Google created") { _ in
                #"{"type":"authorized_user","client_id":"x"}"#
            },
            Account(
                remedy: "token_endpoint to the URL that the assertions are meant for",
                tokenURI: "https://oauth2.example/token",
                writesEndpoint: false
            ) { $0 },
            Account(remedy: "service_account_file to the JSON file of a new key of the account") {
                $0.replacing(#/"private_key":"[^"]*"/#, with: #""private_key":"x""#)
            },
        ])
        func `a key file of Google is mended as it is said`(_ row: Account) async throws {
            let files = try TemporaryDirectory()
            let double = try GoogleDouble()
            let file = double.keyFile(tokenURI: row.tokenURI)
            let path = try files.write(row.spoiled(file), to: "account.json")
            func lines(_ address: String, _ writesEndpoint: Bool) -> String {
                """
                flow = "jwt_bearer"
                service_account_file = "\(path)"
                scopes = ["\(GoogleDouble.scopes[0])"]
                \(writesEndpoint ? "token_endpoint = \"\(address)/token\"" : "")
                """
            }
            let scene = try await KindScene([double.route]) { lines($0, row.writesEndpoint) }
            let refused = try await scene.get()
            let remedy = try #require(PrintedRemedy(refused, holding: row.remedy), "\(refused)")
            try files.write(file, to: "account.json")
            if !row.writesEndpoint {
                let text = try #require(File.text(scene.agent.configurationPath))
                let key = "token_endpoint = \"\(scene.issuer.issuer)/token\"\nflow ="
                try scene.agent.configure(text.replacing("flow =", with: key))
                #expect(try await scene.agent.tokenctl("reload").status == 0)
            }
            let after = try await scene.agent.tokenctl("refresh", "phone")
            #expect(after.status == 0 && !after.standardError.contains(remedy.text), "\(after)")
            #expect(try await scene.get().line.hasPrefix("ya29."))
        }

        @Test(.enabled(if: JobScene.isAvailable, isOff)) func `an agent is started by the job itself`()
            async throws
        {
            let scene = try await JobScene()
            try await scene.agent.start()
            let outside = try await scene.agent.tokenctl("get", "work")
            let start = "in an agent that a job with the permission id-token: write starts"
            #expect(PrintedRemedy(outside, holding: start) != nil, "\(outside)")
            try await scene.agent.end()
            try await scene.start(bearer: "the job before")
            let over = try await scene.agent.tokenctl("refresh", "work")
            let running = "while the job runs, with its permission id-token: write"
            #expect(PrintedRemedy(over, holding: running) != nil, "\(over)")
            try await scene.agent.end()
            try await scene.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0, "\(scene.agent.log)")
        }

        @Test(.enabled(if: IdentityCenterScene.script.isAvailable, isMissing))
        func `a role is asked for as it is said`() async throws {
            try await IdentityCenterScene.whileRunning { scene in
                try await scene.logIn()
                let token = try await scene.agent.tokenctl("get", "reader")
                let own = try #require(PrintedRemedy(token, holding: "tokenctl aws reader"), "\(token)")
                #expect(try await scene.agent.shell(try #require(own.command)).status == 0)
                let unnamed = try await scene.agent.tokenctl("aws", "sso")
                let named = try #require(
                    PrintedRemedy(unnamed, holding: "--account ID --role NAME"),
                    "\(unnamed)"
                )
                let pattern = try #require(named.command)
                func command(_ role: String) -> String {
                    pattern.replacing("ID", with: IdentityCenterScene.account)
                        .replacing("NAME", with: role)
                }
                let wrong = try await scene.agent.shell(command("NoSuchRole"))
                let check = "account and role to a role that is assigned to you"
                #expect(PrintedRemedy(wrong, holding: check) != nil, "\(wrong)")
                let right = try await scene.agent.shell(command("Admin"))
                #expect(right.status == 0 && !right.standardError.contains(check), "\(right)")
            }
        }

        /// Routes of an IAM Identity Center that knows only the start URL `right`, as the service models describe.
        private static func identityCenter(_ right: String) -> [Route] {
            let grant: JSONValue = [
                "deviceCode": "device", "userCode": "ABCD-EFGH", "verificationUri": .string(right),
                "verificationUriComplete": .string("\(right)?user_code=ABCD-EFGH"), "expiresIn": 600,
                "interval": 5,
            ]
            return [
                Route("POST", "/sso/client/register") { _ in
                    .json([
                        "clientId": "registered", "clientSecret": "secret",
                        "clientSecretExpiresAt": 4_000_000_000,
                    ])
                },
                Route("POST", "/sso/device_authorization") { request in
                    request.json?["startUrl"]?.string == right
                        ? .json(grant) : .json(["error": "invalid_request"], status: 400)
                },
                Route("POST", "/sso/token") { _ in .json(["error": "authorization_pending"], status: 400) },
            ]
        }

        @Test func `the address of the portal is corrected as it is said`() async throws {
            let issuer = try await DemoIssuer.start()
            let right = "\(issuer.issuer)/start"
            for route in Self.identityCenter(right) { issuer.add(route) }
            func configuration(_ start: String) -> String {
                """
                [session.sso]
                kind = "aws_sso"
                region = "eu-west-1"
                start_url = "\(start)"
                sso_oidc_endpoint = "\(issuer.issuer)/sso"
                sso_endpoint = "\(issuer.issuer)/sso"

                """
            }
            let agent = try AgentUnderTest(configuration: configuration("\(issuer.issuer)/other"))
            try await agent.start()
            let refused = try await agent.tokenctl("login", "sso", "--no-browser")
            let remedy = "start_url and region to those of IAM Identity Center"
            #expect(refused.status == 2 && PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            try agent.configure(configuration(right))
            #expect(try await agent.tokenctl("reload").status == 0)
            let login = try agent.startTokenctl(["login", "sso", "--json", "--no-browser"])
            #expect(try await login.outputLine(containing: "user_code").contains("ABCD-EFGH"))
        }

        @Test func `an ID token to exchange comes with openid, as it is said`() async throws {
            let secret = "client_secret = \"demo-secret-7f3a\"\n"
            let scene = try await Scene(session: secret, client: "demo-confidential")
            let text = try #require(File.text(scene.agent.configurationPath))
            // The login is older than the session that is made from it.
            let plain = text.replacing("\"openid\", ", with: "")
            try scene.agent.configure(plain)
            try await scene.agent.start()
            try await scene.logIn()
            let derived = """
                [session.narrow]
                issuer = "\(scene.issuer.issuer)"
                client_id = "demo-confidential"
                \(secret)flow = "token_exchange"
                from = "work"
                subject_token_type = "id_token"
                scopes = ["api"]

                """
            try scene.agent.configure(plain + derived)
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let refused = try await scene.agent.tokenctl("get", "narrow")
            let words = "openid in scopes of its source [session.work], then run tokenctl login work"
            #expect(PrintedRemedy(refused, holding: words) != nil, "\(refused) \(scene.agent.log)")
            try scene.agent.configure(text + derived)
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            try await scene.logIn()
            let after = try await scene.agent.tokenctl("refresh", "narrow")
            #expect(after.status == 0, "\(after) \(scene.agent.log)")
        }

        /// Follows the notice at a desktop; the program that shows it is the test's.
        @Test func `the command of a notice at the desktop helps`() async throws {
            let directory = try TemporaryDirectory()
            let file = directory.path("shown")
            let script = "#!/bin/sh\nfor word; do echo \"$word\"; done >>'\(file)'\necho 7\n"
            try directory.write(script, to: "notify-send", mode: 0o700)
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: [
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none", "DISPLAY": ":0",
                "PATH": "\(directory.path):\(scene.agent.environment["PATH"] ?? "")",
            ])
            try await scene.logIn()
            scene.issuer.queue(.failure("access_denied", status: 400))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 4)
            let command = try await Polling.value {
                File.text(file)?.split(separator: "\n").first { $0.hasPrefix("tokenctl ") }
            }
            let line = "\(try #require(command)) \(Scene.password.more)"
            #expect(try await scene.paste(line, input: Scene.password.input).status == 0)
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }
    }
}
