// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the scripts that run glewlwyd are not here; set TOKENAGENT_IDP_DIR to their directory"

extension EndToEnd {
    @Suite(.full, .enabled(if: Glewlwyd.isAvailable, isMissing), .glewlwyd, .serialized)
    struct GlewlwydTests {
        @Test(arguments: [("keep", "keeps"), ("rotate", "rotates"), ("slow", "keeps")])
        func `a browser login lives on through refreshes and a restart`(
            realm: String,
            habit: String
        ) async throws {
            let scene = try await GlewlwydScene(realm: realm, flow: "browser", port: 18400)
            try await scene.logIn()
            var seen = [try await scene.get()]
            for _ in 0..<3 {
                let refreshed = try await scene.refresh()
                #expect(refreshed.status == 0, "\(refreshed.standardError)")
                seen.append(try await scene.get())
            }
            #expect(Set(seen).count == 4)
            #expect(try await scene.isAccepted(#require(seen.last)))
            #expect(try await scene.agent.status("work")["rotation"]?.string == habit)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.get() == seen.last)
            #expect(try await scene.refreshFailure() == nil)
        }

        @Test func `a device login is approved in a browser elsewhere`() async throws {
            let scene = try await GlewlwydScene(realm: "rotate", flow: "device")
            let login = try scene.agent.startTokenctl(["login", "work", "--json", "--no-browser"])
            let line = try await login.outputLine(containing: "user_code")
            let step = try #require(try JSONValue(parsing: line.utf8).object)
            let approved = try await scene.server.script(
                "browser.py",
                "--state",
                scene.server.statePath,
                "--device",
                try #require(step["verification_uri"]?.string),
                "--code",
                try #require(step["user_code"]?.string)
            )
            #expect(approved.status == 0, "\(approved.standardError)")
            let result = try await login.finish()
            #expect(result.status == 0, "\(result)")
            #expect(try await scene.isAccepted(scene.get()))
            #expect(try await scene.refreshFailure() == nil)
        }

        @Test func `a password buys a session`() async throws {
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "password",
                client: "confidential",
                scopes: #""offline_access", "api""#
            )
            try await scene.logIn("--username", "bob", "--password-stdin", input: "bob-password-2\n")
            #expect(try await scene.get().isEmpty == false)
            #expect(try await scene.refreshFailure() == nil)
        }

        @Test func `client credentials buy a token again and again`() async throws {
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "client_credentials",
                client: "confidential",
                scopes: #""api""#
            )
            try await scene.logIn()
            let first = try await scene.get()
            #expect(try await scene.refreshFailure() == nil)
            #expect(try await scene.get() != first)
        }

        @Test func `logout kills the refresh token at the server`() async throws {
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "import",
                client: "confidential",
                scopes: #""offline_access", "api""#
            )
            let token = try await refreshToken(scene)
            try await scene.logIn("--refresh-token-stdin", input: token + "\n")
            #expect(try await post(scene, "grant_type=refresh_token&refresh_token=\(token)") == "200")
            let result = try await scene.agent.tokenctl("logout", "work")
            #expect(result.status == 0, "\(result.standardError) \(scene.agent.log)")
            #expect(try await post(scene, "grant_type=refresh_token&refresh_token=\(token)") == "400")
        }

        @Test func `a dead token answered with a bare 400 is not the end at once`() async throws {
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "import",
                client: "confidential",
                scopes: #""offline_access", "api""#
            )
            let token = try await refreshToken(scene)
            try await scene.logIn("--refresh-token-stdin", input: token + "\n")
            let access = try await scene.get()
            #expect(try await post(scene, "token=\(token)", endpoint: "revoke") == "200")
            let result = try await scene.refresh()
            #expect(result.status == 5, "\(result.standardError)")
            let status = try await scene.agent.status("work")
            #expect(status["state"] == "retrying")
            #expect(status["last_error"]?.object?["class"] == "unexplained")
            #expect(try await scene.get() == access)
        }

        @Test func `bare refusals that go on after the access token has ended are an answer`() async throws {
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "import",
                client: "confidential",
                scopes: #""offline_access", "api""#
            )
            let token = try await refreshToken(scene)
            try await scene.logIn("--refresh-token-stdin", input: token + "\n")
            #expect(try await post(scene, "token=\(token)", endpoint: "revoke") == "200")
            #expect(try await scene.refresh().status == 5)
            #expect(try await scene.agent.reaches("logged_out", "work", within: .seconds(110)))
            #expect(try await scene.agent.status("work")["reason"] == "refused_without_reason")
            #expect(try await scene.refresh().status == 4)
        }

        @Test func `the end of the browser session ends the refresh token`() async throws {
            let scene = try await GlewlwydScene(realm: "keep", flow: "browser", port: 18401)
            try await scene.logIn()
            let idToken = try await scene.agent.tokenctl("get", "work", "--id-token").line
            let ended = try await scene.server.script(
                "browser.py",
                "--state",
                scene.server.statePath,
                "--jar",
                scene.agent.home.path("jar"),
                "--get",
                "\(scene.server.issuer("keep"))/end_session?id_token_hint=\(idToken)"
            )
            #expect(ended.status == 0, "\(ended.standardError)")
            #expect(try await scene.refresh().status == 5)
        }

        @Test func `a server that comes back is used again`() async throws {
            // With refresh tokens that are replaced it was once busy after it had spent one, which no client survives.
            let scene = try await GlewlwydScene(realm: "keep", flow: "browser", port: 18402)
            try await scene.logIn()
            let token = try await scene.get()
            try await scene.server.stop()
            let away = try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh")
            #expect(away.status == 503, "\(away.text)")
            #expect(try await scene.get() == token)
            try await scene.server.start()
            // One may still join an attempt that found nobody there.
            #expect(try await Polling.until { try await scene.refresh().status == 0 })
            #expect(try await scene.get() != token)
        }

        /// A refresh token bought behind the agent's back.
        private func refreshToken(_ scene: GlewlwydScene) async throws -> String {
            let form =
                "grant_type=password&username=alice&password=alice-password-1&scope=offline_access%20api"
            let result = try await scene.agent.shell(curl(scene, form, endpoint: "token"))
            return try #require(
                try JSONValue(parsing: result.standardOutput.utf8).object?["refresh_token"]?.string
            )
        }

        /// The status a form gets at an endpoint of the realm.
        private func post(
            _ scene: GlewlwydScene,
            _ form: String,
            endpoint: String = "token"
        ) async throws -> String {
            try await scene.agent.shell(
                curl(scene, form, endpoint: endpoint) + " -o /dev/null -w '%{http_code}'"
            ).line
        }

        private func curl(_ scene: GlewlwydScene, _ form: String, endpoint: String) async throws -> String {
            let issuer = try #require(try await scene.agent.status("work")["issuer"]?.string)
            return
                "curl -s -u 'tokenagent-confidential:\(scene.server.secret)' -d '\(form)' '\(issuer)/\(endpoint)'"
        }
    }

    @Suite(.full, .enabled(if: Glewlwyd.isAvailable, isMissing), .glewlwydOverTLS, .serialized)
    struct GlewlwydOverTLSTests {
        @Test func `a browser login works under a private authority`() async throws {
            let scene = try await GlewlwydScene(realm: "rotate", flow: "browser", port: 18405)
            try await scene.logIn()
            #expect(try await scene.isAccepted(scene.get()))
            #expect(try await scene.refreshFailure() == nil)
        }
    }
}
