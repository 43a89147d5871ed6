// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct KindTests {
        static let styles = [MobileBackEnd.Style.signaling, .ecall]

        @Test(arguments: styles)
        func `a mobile session logs in, refreshes, survives a kill and logs out`(
            style: MobileBackEnd.Style
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            let second = try await scene.liveThroughKill()
            let kept = try await scene.agent.status("phone")["kept"]?.object
            #expect(kept == ["deviceId": "device-1", "userId": "user-alice"])
            #expect(backEnd.refreshes == 1)
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            let farewell = try #require(scene.issuer.requests(to: backEnd.logoutPath).first)
            #expect(farewell.bearerToken == second)
            #expect(try await scene.get().status == 4)
        }

        @Test(arguments: styles)
        func `a logout deletes everything though nobody can be reached`(
            style: MobileBackEnd.Style
        ) async throws {
            let scene = try await KindScene.json(MobileBackEnd(style))
            try await scene.logIn()
            await scene.issuer.stopListening()
            _ = try await scene.agent.tokenctl("logout", "phone")
            #expect(try await scene.agent.reaches("logged_out", "phone"))
            let isGone = try await Polling.until {
                let status = try await scene.agent.status("phone")
                return (status["kept"]?.object ?? JSONObject()).members.isEmpty && status["account"] == nil
            }
            #expect(isGone)
            #expect(try await scene.get().status == 4)
        }

        @Test(arguments: [
            (MobileBackEnd.Style.signaling, #"{"error":"access_token_expired"}"#),
            (.ecall, #"{"code":"ErrAccessTokenExpired"}"#),
        ])
        func `two hundred refused callers are one refresh`(
            style: MobileBackEnd.Style,
            body: String
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            let refused = try await scene.get().line
            let answers = try await scene.reportAtOnce(refused, body: body)
            #expect(backEnd.refreshes == 1)
            #expect(answers.count == 200)
            #expect(Set(answers) == [try await scene.get().line])
            #expect(answers.first != refused)
        }

        @Test func `two hundred refused callers of a user pool are one refresh`() async throws {
            let double = try CognitoDouble(
                clients: [CognitoDouble.Client(id: "cli")],
                users: [CognitoDouble.User(name: "alice", password: "alice-password")]
            )
            let scene = try await KindScene.cognito(double)
            try await scene.logIn()
            let refused = try await scene.get().line
            #expect(try await scene.get("--id-token").line != refused)
            scene.issuer.forgetRequests()
            let answers = try await scene.reportAtOnce(refused, body: #"{"message":"The token expired"}"#)
            #expect(scene.issuer.requests(to: "/").count == 1)
            #expect(Set(answers) == [try await scene.get().line])
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            #expect(try await scene.get().status == 4)
        }

        @Test(arguments: [
            (MobileBackEnd.Style.signaling, #"{"error":"token_revoked"}"#),
            (.signaling, #"{"error":"access_token_expired","requiresReauth":true}"#),
            (.ecall, #"{"code":"ErrDeviceNotRegistered"}"#),
        ])
        func `a resource server can end the session`(
            style: MobileBackEnd.Style,
            body: String
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            let reply = try await scene.report(try await scene.get().line, body: body)
            #expect(reply.json?["error"]?.object?["code"]?.string == "login_required")
            #expect(try await scene.agent.reaches("logged_out", "phone"))
            #expect(try await scene.get().status == 4)
            #expect(backEnd.refreshes == 0)
        }

        @Test func `a demand for a new login is known by the name the configuration gives it`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await KindScene.json(
                backEnd,
                more: #"fields = { requires_reauth = "signInAgain" }"#
            )
            try await scene.logIn()
            let token = try await scene.get().line
            let body = #"{"error":"access_token_expired","requiresReauth":true}"#
            let retry = try await scene.report(token, body: body)
            #expect(retry.json?["action"]?.string == "retry")
            let fresh = try #require(retry.json?["access_token"]?.string)
            let reply = try await scene.report(fresh, status: 403, body: #"{"signInAgain":true}"#)
            #expect(reply.json?["error"]?.object?["code"]?.string == "login_required")
        }

        @Test(arguments: [
            (MobileBackEnd.Style.signaling, "token_revoked"), (.signaling, "invalid_credentials"),
            (.ecall, "ErrDeviceNotRegistered"),
        ])
        func `curl logs out when the back end ends the session, and says what to do`(
            style: MobileBackEnd.Style,
            code: String
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            backEnd.endLogins(code: code)
            let result = try await scene.curl(backEnd.resourcePath)
            #expect(result.status == 4)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("tokenctl login phone"))
            #expect(result.standardError.contains(code))
            #expect(scene.issuer.requests(to: backEnd.resourcePath).count == 1)
            #expect(try await scene.agent.status("phone")["state"]?.string == "logged_out")
            #expect(try await scene.get().status == 4)
            #expect(scene.issuer.requests(to: backEnd.refreshPath).isEmpty)
        }

        @Test func `a 403 ends the session only with a code that says so`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            for code in ["not_yours", "token_revoked"] {
                let refusal = IssuerResponse.json(["error": .string(code)], status: 403)
                scene.issuer.queue(refusal, for: backEnd.resourcePath)
            }
            let forbidden = try await scene.curl(backEnd.resourcePath)
            #expect(forbidden.status == 0 && forbidden.standardError.isEmpty)
            #expect(forbidden.standardOutput == #"{"error":"not_yours"}"#)
            #expect(try await scene.get().status == 0)
            let over = try await scene.curl(backEnd.resourcePath)
            #expect(over.status == 4 && over.standardOutput.isEmpty)
            #expect(over.standardError.contains("token_revoked"), "\(over.standardError)")
            #expect(try await scene.get().status == 4)
            #expect(scene.issuer.requests(to: backEnd.resourcePath).count == 2)
            #expect(backEnd.refreshes == 0)
        }

        @Test func `an ecall session is over when the retry is refused too`() async throws {
            let backEnd = MobileBackEnd(.ecall)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            let refusal = IssuerResponse.json(["code": "ErrAccessTokenExpired"], status: 401)
            scene.issuer.queue(refusal, for: backEnd.resourcePath, times: 2)
            let result = try await scene.curl(backEnd.resourcePath)
            #expect(result.status == 4)
            #expect(
                result.standardError.contains("rejected the refreshed token too"),
                "\(result.standardError)"
            )
            #expect(backEnd.refreshes == 1)
            #expect(scene.issuer.requests(to: backEnd.resourcePath).count == 2)
            #expect(try await scene.get().status == 4)
        }

        @Test func `a signaling session outlives a server that refuses every token`() async throws {
            let backEnd = MobileBackEnd(.signaling)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            let refusal = IssuerResponse.json(["error": "access_token_expired"], status: 401)
            scene.issuer.queue(refusal, for: backEnd.resourcePath, times: 2)
            let result = try await scene.curl(backEnd.resourcePath)
            #expect(result.status == 0 && result.line == #"{"error":"access_token_expired"}"#)
            #expect(backEnd.refreshes == 1)
            #expect(try await scene.get().status == 0)
        }

        @Test(arguments: styles)
        func `a demand for a new login ends the session at the first refresh`(
            style: MobileBackEnd.Style
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            backEnd.endLogins(code: "anything", requiresReauth: true)
            for _ in 0..<5 {
                #expect(try await scene.agent.tokenctl("refresh", "phone").status == 4)
            }
            #expect(scene.issuer.requests(to: backEnd.refreshPath).count == 1)
            #expect(try await scene.agent.status("phone")["reason"]?.string == "grant_dead")
        }
    }
}
