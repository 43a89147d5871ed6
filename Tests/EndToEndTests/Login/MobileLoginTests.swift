// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Logins at mobile back ends: with a code, with what only the app knows, and taken over from the app.
    @Suite struct MobileLoginTests {
        // MARK: Code

        private func codeScene(_ backEnd: MobileBackEnd, more: String = "") async throws -> KindScene {
            try await KindScene(backEnd.routes) { address in
                """
                kind = "json"
                preset = "\(backEnd.style.rawValue)"
                base_url = "\(address)"
                code_url = "\(address)\(backEnd.codePath)"
                carry = ["attemptId"]
                \(more)
                """
            }
        }

        @Test(arguments: KindTests.styles)
        func `a code that was sent is typed at the terminal, again after a wrong one`(
            style: MobileBackEnd.Style
        ) async throws {
            let backEnd = MobileBackEnd(style)
            backEnd.settings.envelope = ["data"]
            let scene = try await codeScene(backEnd, more: #"envelope = "data""#)
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", "phone", "--username", "alice"],
                environment: scene.agent.environment
            )
            try await terminal.type("000000", after: "Code sent to alice: ")
            let code = try #require(backEnd.sentCodes.last)
            try await terminal.type(code, after: "Please sign in again. Code sent to alice: ")
            #expect(try await terminal.shows("Logged in to \"phone\""), "\(terminal.screen)")
            #expect(!terminal.screen.contains(code) && !scene.agent.log.contains(code))
            #expect(backEnd.sentCodes.count == 1)
            #expect(try await scene.agent.status("phone")["account"]?.string == "alice")
            let bodies = scene.issuer.requests().map(\.json)
            #expect(
                bodies == [
                    ["username": "alice"], ["username": "alice", "code": "000000", "attemptId": 1],
                    ["username": "alice", "code": .string(code), "attemptId": 1],
                ]
            )
        }

        @Test func `three wrong codes are the end of a login, and the session is as it was`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await codeScene(backEnd)
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", "phone", "--username", "alice"],
                environment: scene.agent.environment
            )
            for asked in 1...3 {
                let isAsked = try await Polling.until {
                    terminal.screen.matches(of: #/Code sent to alice: /#).count == asked
                }
                #expect(isAsked, "\(terminal.screen)")
                try await terminal.type("1234567", after: "Code sent to alice: ")
            }
            #expect(try await terminal.shows("invalid_credentials: Please sign in again."))
            #expect(try await scene.agent.reaches("logged_out", "phone"))
            #expect(scene.issuer.requests(to: backEnd.loginPath).count == 3)
            #expect(backEnd.sentCodes.count == 1)
        }

        @Test func `who gives a password instead is told so, and nobody is sent a code`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await codeScene(backEnd)
            let result = try await scene.agent.tokenctl(
                ["login", "phone", "--username", "alice", "--password-stdin"],
                input: "alice-password\n"
            )
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("requires a code that the server sends"))
            #expect(scene.issuer.requests().isEmpty)
        }

        // MARK: Constants

        /// A session of a back end that serves nobody but its app; the directory holds one of the app's secrets.
        private func appScene(_ backEnd: MobileBackEnd) async throws -> (KindScene, TemporaryDirectory) {
            backEnd.settings.headers = ["X-Api-Key": "key-4711-key", "X-App": "demo 1.2"]
            backEnd.settings.members = [
                "device": ["type": "linux", "build": 42, "push": false], "appSecret": "se\"cret-member",
            ]
            let files = try TemporaryDirectory()
            let file = try files.write("se\"cret-member\n", to: "member")
            let scene = try await KindScene.json(
                backEnd,
                more: """
                    headers = { X-Api-Key = { command = ["printf", "key-4711-key"] }, X-App = "demo 1.2" }
                    [session.phone.members]
                    device = { type = "linux", build = 42, push = false }
                    appSecret = { file = "\(file)" }
                    """
            )
            return (scene, files)
        }

        @Test func `every request carries what the app's do`() async throws {
            let backEnd = MobileBackEnd(.ecall)
            let (scene, files) = try await appScene(backEnd)
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            let requests = scene.issuer.requests()
            #expect(requests.map(\.path) == [backEnd.loginPath, backEnd.refreshPath, backEnd.logoutPath])
            for request in requests {
                let names = request.headers.map { $0.name.lowercased() }
                #expect(Set(names).count == names.count)
            }
            withExtendedLifetime(files) {}
        }

        @Test(.holds("O58")) func `an app's secrets are shown nowhere, whatever the back end says`()
            async throws
        {
            let backEnd = MobileBackEnd(.signaling)
            let (scene, files) = try await appScene(backEnd)
            try await scene.logIn()
            let echo: JSONValue = [
                "error": "key-4711-key", "message": "key-4711-key and se\"cret-member on linux, with care",
            ]
            scene.issuer.queue(.json(echo, status: 400), for: backEnd.refreshPath)
            let result = try await scene.agent.tokenctl("refresh", "phone")
            #expect(result.status != 0 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("[redacted] and [redacted] on linux"))
            let status = try await scene.agent.tokenctl("status", "phone", "--json").standardOutput
            let check = try await scene.agent.tokenctl("config", "check").standardOutput
            for text in [result.standardError, status, check, scene.agent.log] {
                #expect(!text.contains("4711") && !text.contains("cret-member"), "\(text)")
            }
            withExtendedLifetime(files) {}
        }

        @Test func `a secret that cannot be had is one clear line, and the login is kept`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let (scene, files) = try await appScene(backEnd)
            try await scene.logIn()
            let served = scene.issuer.requests().count
            _ = try files.write("", to: "member")
            let result = try await scene.agent.tokenctl("refresh", "phone")
            #expect(result.status == 5 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("members.appSecret.file"), "\(result)")
            #expect(scene.issuer.requests().count == served)
            _ = try files.write("se\"cret-member", to: "member")
            #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
            withExtendedLifetime(files) {}
        }

        // MARK: Import

        private func importing(_ answer: String, into scene: KindScene) async throws -> ProgramResult {
            try await scene.agent.tokenctl(["login", "phone", "--refresh-token-stdin"], input: answer)
        }

        @Test func `a saved answer brings its tokens, lifetimes and members, and nothing is sent`()
            async throws
        {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await KindScene.json(backEnd, more: #"envelope = "data""#)
            backEnd.settings.envelope = ["data"]
            let answer = """
                {
                \t"status": "ok",
                  "data": {
                    "accessToken": "at-saved", "refreshToken": "\(backEnd.grantRefreshToken())",\r
                    "expiresIn": 600, "refreshExpiresIn": 86400, "userId": 7, "deviceId": "my phone"
                  }
                }

                """
            let result = try await importing(answer, into: scene)
            #expect(result.status == 0, "\(result)")
            #expect(try await scene.get().line == "at-saved")
            #expect(scene.issuer.requests().isEmpty)
            let status = try await scene.agent.status("phone")
            #expect((500...600).contains(status["expires_in"]?.integer ?? 0), "\(status)")
            #expect(status["kept"]?.object == ["deviceId": "my phone", "userId": "7"])
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.get().line == "at-saved")
            #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
            #expect(try await scene.get().line != "at-saved")
            #expect(backEnd.refreshes == 1)
            #expect(try await scene.agent.status("phone")["kept"]?.object?["deviceId"]?.string == "my phone")
        }

        @Test func `without an access token the refresh token of a saved answer is used once`() async throws {
            let backEnd = MobileBackEnd(.ecall)
            let scene = try await KindScene.json(backEnd)
            let token = backEnd.grantRefreshToken()
            let result = try await importing(#"{"refreshToken":"\#(token)","userId":7}"#, into: scene)
            #expect(result.status == 0, "\(result)")
            #expect(backEnd.refreshes == 1)
            #expect(try await scene.get().status == 0)
            #expect(try await scene.agent.status("phone")["kept"]?.object == ["userId": "7"])
        }

        @Test(arguments: [
            (#"{"accessToken":"at-hidden"}"#, "has no refreshToken, which refreshes require"),
            (#"{"error":"invalid_credentials"}"#, "has no refreshToken"),
            (#"[{"refreshToken":"rt-hidden"}]"#, "is not a JSON object"),
            (#"{"refreshToken":"rt-hidden""#, "is not valid JSON (unexpected end"),
            (#"{"refreshToken":"rt-hidden","refreshToken":"rt-2"}"#, "duplicate member"),
            (#"{"refreshToken":["rt-hidden"]}"#, "refreshToken in the response is not a string"),
            (
                #"{"x":"\#(String(repeating: "x", count: 40_000))","refreshToken":"r"}"#,
                "is longer than 32768"
            ),
        ])
        func `a saved answer that is none is refused in one line`(answer: String, words: String) async throws
        {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await KindScene.json(backEnd)
            let result = try await importing(answer, into: scene)
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains(words), "\(result)")
            #expect(!(result.standardError + scene.agent.log).contains("hidden"))
            #expect(scene.issuer.requests().isEmpty)
            #expect(try await scene.get().status == 4)
        }
    }
}
