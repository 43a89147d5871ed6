// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Real mobile back ends: wrapped responses, and configurations that need only an address.
    @Suite struct MobileTests {
        /// The members in which a back end wraps its responses, and the configuration for them.
        struct Wrapping: Sendable {
            var envelope: [String]
            var errorPlace: [String] = []
            var lines: String
        }

        static let wrappings = [
            Wrapping(envelope: ["data"], lines: #"envelope = "data""#),
            Wrapping(
                envelope: ["result", "session.v1"],
                errorPlace: ["errors", "reason.code"],
                lines: """
                    envelope = ["result", "session.v1"]
                    error_code = ["errors", "reason.code"]
                    """
            ),
        ]

        private func backEnd(_ wrapping: Wrapping, _ style: MobileBackEnd.Style = .signaling) -> MobileBackEnd
        {
            var settings = MobileBackEnd.Settings()
            settings.envelope = wrapping.envelope
            settings.errorPlace = wrapping.errorPlace
            return MobileBackEnd(style, settings: settings)
        }

        @Test(arguments: wrappings)
        func `a session whose answers are wrapped lives from login to logout`(wrapping: Wrapping) async throws
        {
            let backEnd = backEnd(wrapping)
            let scene = try await KindScene.json(backEnd, more: wrapping.lines)
            try await scene.liveThroughKill()
            let status = try await scene.agent.status("phone")
            #expect(status["kept"]?.object == ["deviceId": "device-1", "userId": "user-alice"])
            #expect((800...900).contains(status["expires_in"]?.integer ?? 0))
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            #expect(try await scene.get().status == 4)
        }

        @Test(.holds("114"), arguments: wrappings)
        func `two hundred refused callers are one refresh, though the code is wrapped`(
            wrapping: Wrapping
        ) async throws {
            let backEnd = backEnd(wrapping)
            let scene = try await KindScene.json(backEnd, more: wrapping.lines)
            try await scene.logIn()
            let refused = try await scene.get().line
            let body = (wrapping.errorPlace.isEmpty ? ["data", "error"] : wrapping.errorPlace).reversed()
                .reduce(JSONValue.string("access_token_expired")) { [$1: $0] }
            let answers = try await scene.reportAtOnce(refused, body: body.text)
            #expect(backEnd.refreshes == 1)
            #expect(answers.count == 200)
            #expect(Set(answers) == [try await scene.get().line])
        }

        @Test(arguments: wrappings)
        func `a code that is wrapped ends the session, at a refresh and at a resource server`(
            wrapping: Wrapping
        ) async throws {
            let backEnd = backEnd(wrapping)
            let scene = try await KindScene.json(backEnd, more: wrapping.lines)
            try await scene.logIn()
            backEnd.endLogins(code: "token_revoked")
            let refreshed = try await scene.agent.tokenctl("refresh", "phone")
            #expect(
                refreshed.status == 4 && refreshed.standardError.contains("token_revoked"),
                "\(refreshed)"
            )
            #expect(try await scene.get().status == 4)
            try await scene.logIn()
            backEnd.endLogins(code: "token_revoked")
            let result = try await scene.curl(backEnd.resourcePath)
            #expect(result.status == 4 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("token_revoked"))
            #expect(scene.issuer.requests(to: backEnd.refreshPath).count == 1)
        }

        /// Refresh responses with tokens in wrong places, or with excessive data.
        enum HostileAnswer: String, CaseIterable, Sendable {
            case array
            case besideEnvelope
            case emptyEnvelope
            case twoEnvelopes
            case twoTokens
            case deep
            case large
            case manyValues

            var body: String {
                let tokens = #""accessToken":"at-hostile","refreshToken":"rt-hostile""#
                switch self {
                case .array: return "{\"data\":[{\(tokens)}]}"
                case .besideEnvelope: return "{\(tokens)}"
                case .emptyEnvelope: return "{\"data\":null,\(tokens)}"
                case .twoEnvelopes:
                    return "{\"data\":{\(tokens)},\"data\":{\"accessToken\":\"at-hostile-2\"}}"
                case .twoTokens: return "{\"data\":{\(tokens),\"accessToken\":\"at-hostile-2\"}}"
                case .deep:
                    let start = String(repeating: "{\"data\":", count: 5_000)
                    return start + "{\(tokens)}" + String(repeating: "}", count: 5_000)
                case .large:
                    return "{\"data\":{\(tokens),\"x\":\"\(String(repeating: "x", count: 1 << 20))\"}}"
                case .manyValues:
                    return "{\"data\":{\(tokens),\"x\":[\(String(repeating: "1,", count: 99_999))1]}}"
                }
            }
        }

        @Test(.holds("79"), arguments: HostileAnswer.allCases)
        func `an answer that is not what it should be ends nothing and is soon forgotten`(
            answer: HostileAnswer
        ) async throws {
            let backEnd = backEnd(Self.wrappings[0])
            let scene = try await KindScene.json(backEnd, more: Self.wrappings[0].lines)
            try await scene.logIn()
            let token = try await scene.get().line
            let reply = IssuerResponse(
                headers: [("Content-Type", "application/json")],
                body: Array(answer.body.utf8)
            )
            scene.issuer.queue(Disturbance(reply: reply, isProcessed: false), for: backEnd.refreshPath)
            let result = try await scene.agent.tokenctl("refresh", "phone")
            #expect(result.status == 5 && result.complainsInOneLine, "\(result)")
            #expect(!result.standardError.contains("hostile"))
            // The agent tries again by itself.
            #expect(try await Polling.until { backEnd.refreshes == 1 }, "\(scene.agent.log)")
            #expect(try await scene.agent.reaches("ready", "phone"))
            let next = try await scene.get().line
            #expect(next != token && !next.contains("hostile"))
        }

        @Test(arguments: KindTests.styles)
        func `an address and a preset are enough`(style: MobileBackEnd.Style) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene(backEnd.routes) { address in
                """
                kind = "json"
                preset = "\(style.rawValue)"
                base_url = "\(address)/"
                """
            }
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            let paths = scene.issuer.requests().map(\.path)
            #expect(paths == [backEnd.loginPath, backEnd.refreshPath, backEnd.logoutPath])
        }
    }
}
