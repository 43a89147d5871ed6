// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// `tokenctl report` and `tokenctl status --check`, which scripts build on.
    @Suite struct ReportTests {
        private func report(
            _ scene: Scene,
            _ token: String,
            _ arguments: String...
        ) async throws -> ProgramResult {
            try await scene.agent.tokenctl(["report", "work"] + arguments, input: token + "\n")
        }

        @Test func `a refused token is replaced and the fresh one printed`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let challenge = "Bearer error=\"invalid_token\""
            let result = try await report(scene, token, "--status", "401", "--www-authenticate", challenge)
            #expect(result.status == 0)
            #expect(result.standardError.isEmpty)
            #expect(result.line != token)
            #expect(try await scene.isAccepted(result.line))
            #expect(try await scene.token() == result.line)
            // The old one again: the answer is there already.
            let again = try await report(scene, token, "--status", "401", "--json")
            let answer = try #require(try JSONValue(parsing: again.standardOutput.utf8).object)
            #expect(answer["action"]?.string == "retry")
            #expect(answer["access_token"]?.string == result.line)
            #expect(scene.refreshes == 1)
        }

        @Test func `where nothing helps nothing is printed`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            for status in ["403", "500", "200"] {
                let result = try await report(scene, token, "--status", status)
                #expect(result.status == 0)
                #expect(result.standardOutput.isEmpty)
                #expect(result.standardError.isEmpty)
            }
            let json = try await report(scene, token, "--status", "500", "--json")
            #expect(json.standardOutput.contains("\"action\":\"none\""), "\(json)")
            #expect(scene.refreshes == 0)
        }

        @Test func `the body of the answer can end the login`() async throws {
            let scene = try await KindScene.json(MobileBackEnd(.signaling))
            try await scene.logIn()
            let token = try await scene.get().line
            let body = try scene.agent.home.write("{\"error\":\"token_revoked\"}", to: "body")
            let arguments = ["report", "phone", "--status", "401", "--body-file", body]
            let result = try await scene.agent.tokenctl(arguments, input: token)
            #expect(result.status == 4)
            #expect(result.standardError.contains("tokenctl login phone"), "\(result)")
            #expect(result.standardOutput.isEmpty)
        }

        @Test func `wrong usage is refused before anything is sent`() async throws {
            let scene = try await Scene.loggedIn()
            for arguments in [
                [], ["--status", "99"], ["--status", "401", "--body-file", "/nonexistent/file"],
                ["--status", "401", "--host", "a b"],
            ] {
                let result = try await scene.agent.tokenctl(["report", "work"] + arguments, input: "x\n")
                #expect(result.status == 2, "\(arguments)")
            }
            #expect(try await report(scene, "", "--status", "401").status == 2)
        }

        @Test func `the check says how things are`() async throws {
            let scene = try await Scene(session: "max_session_age = \"1h\"\nwarn_before = \"10s\"")
            func check(_ arguments: String...) async throws -> Int32 {
                let result = try await scene.agent.tokenctl(["status", "--check"] + arguments)
                #expect(result.standardOutput.isEmpty)
                #expect(result.standardError.isEmpty)
                return result.status
            }
            #expect(try await check() == 3)
            try await scene.agent.start()
            #expect(try await check() == 0)
            #expect(try await check("work") == 4)
            #expect(try await check("none") == 7)
            try await scene.logIn()
            #expect(try await check() == 0)
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("\"10s\"", with: "\"59m59s\""))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            #expect(try await Polling.until { try await check() == 9 })
            let status = try await scene.agent.tokenctl("status", "work", "--json").standardOutput
            #expect(status.contains("\"ends_soon\":true"), "\(status)")
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(try await check() == 0)
            #expect(try await check("work") == 4)
        }
    }
}
