// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// A failed refresh: the server's response, the exit status and the state of the session.
struct FailureRow: Sendable, CustomTestStringConvertible {
    var name: String
    var reply: IssuerResponse
    /// Exit status of `tokenctl refresh`.
    var status: Int32
    var state: String

    var testDescription: String { name }

    static func oauth(
        _ code: String,
        _ httpStatus: Int = 400,
        exits status: Int32,
        _ state: String
    ) -> FailureRow {
        FailureRow(
            name: "\(httpStatus) \(code)",
            reply: .failure(code, status: httpStatus),
            status: status,
            state: state
        )
    }

    static func bare(_ httpStatus: Int, exits status: Int32 = 5, _ state: String = "retrying") -> FailureRow {
        FailureRow(
            name: "bare \(httpStatus)",
            reply: IssuerResponse(status: httpStatus),
            status: status,
            state: state
        )
    }

    static func page(_ httpStatus: Int) -> FailureRow {
        FailureRow(
            name: "web page with \(httpStatus)",
            reply: .html("<html>Log in to the Wi-Fi</html>", status: httpStatus),
            status: 5,
            state: "retrying"
        )
    }

    /// Failures that end the login: only final responses of the token endpoint itself.
    static let final: [FailureRow] = [
        .oauth("invalid_grant", exits: 4, "logged_out"),
        .oauth("invalid_grant", 401, exits: 4, "logged_out"),
        .oauth("invalid_token", 401, exits: 4, "logged_out"),
        .oauth("access_denied", exits: 4, "logged_out"),
        .oauth("interaction_required", exits: 4, "logged_out"),
        .oauth("invalid_grant", 200, exits: 4, "logged_out"),
        .oauth("bad_refresh_token", 200, exits: 4, "logged_out"),
    ]

    /// Failures that the user must fix in the configuration.
    static let configuration: [FailureRow] = [
        .oauth("unauthorized_client", exits: 2, "suspended"),
        .oauth("unsupported_grant_type", exits: 2, "suspended"),
        .oauth("invalid_scope", exits: 2, "suspended"),
        .oauth("invalid_target", exits: 2, "suspended"),
        .bare(413, exits: 2, "suspended"),
        .bare(431, exits: 2, "suspended"),
    ]

    /// All other failures, after which the agent tries again.
    static let temporary: [FailureRow] = [
        .oauth("invalid_request", exits: 5, "retrying"),
        .oauth("temporarily_unavailable", exits: 5, "retrying"),
        .oauth("server_error", exits: 5, "retrying"),
        .oauth("slow_down", exits: 5, "retrying"),
        .oauth("vendor_mystery", exits: 5, "retrying"),
        .oauth("vendor_mystery", 200, exits: 5, "retrying"),
        .oauth("access_denied", 403, exits: 5, "retrying"),
        .oauth("server_error", 401, exits: 5, "retrying"),
        .oauth("invalid_client", 401, exits: 5, "retrying"),
        .oauth("invalid_client", exits: 5, "retrying"),
        .oauth("invalid_grant", 500, exits: 5, "retrying"),
        .bare(400), .bare(401), .bare(403), .bare(404), .bare(405), .bare(407), .bare(408), .bare(410),
        .bare(425),
        .bare(429), .bare(500), .bare(503), .bare(511), .page(400), .page(401), .page(403), .page(503),
    ]
}

extension EndToEnd {
    @Suite(.full) struct FailureTests {
        /// Returns a scene whose requests have a short timeout.
        private func scene() async throws -> Scene {
            try await Scene.loggedIn(more: "[agent]\nget_timeout = \"2s\"")
        }

        @Test(.holds("78"), arguments: FailureRow.final)
        func `a final answer ends the session and quarantines its token`(row: FailureRow) async throws {
            let scene = try await scene()
            let token = try await scene.token()
            scene.issuer.queue(row.reply)
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == row.status, "\(result.standardError)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("tokenctl login work"))
            #expect(try await scene.agent.status("work")["state"]?.string == row.state)
            #expect(try await scene.token() == token)
            let sent = scene.refreshes
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 4)
            #expect(scene.refreshes == sent)
            try await scene.logIn()
            #expect(try await scene.agent.status("work")["state"] == "ready")
        }

        @Test(.holds("78", "O27"), arguments: FailureRow.configuration)
        func `a mistake in the registration keeps the token and waits for a fix`(row: FailureRow) async throws
        {
            let scene = try await scene()
            let token = try await scene.token()
            // A server that refuses the scope is asked once more without it.
            scene.issuer.queue(row.reply, times: 2)
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == row.status, "\(result.standardError)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(try await scene.agent.status("work")["state"]?.string == row.state)
            #expect(try await scene.token() == token)
            scene.issuer.clearQueue()
            #expect(try await scene.refreshesAgain())
            #expect(try await scene.agent.status("work")["state"] == "ready")
        }

        @Test(.holds("78", "79"), arguments: FailureRow.temporary)
        func `any other answer is temporary and keeps everything`(row: FailureRow) async throws {
            let scene = try await scene()
            let token = try await scene.token()
            scene.issuer.queue(row.reply)
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == row.status, "\(result.standardError)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(try await scene.agent.status("work")["state"]?.string == row.state)
            #expect(try await scene.token() == token)
            // Only the agent's own retries are delayed. A user's request is sent at once.
            let again = try await scene.agent.tokenctl("refresh", "work")
            #expect(again.status == 0, "\(again.standardError)")
            #expect(scene.issuer.livingRefreshTokens.count == 1)
            let sent = scene.issuer.requests(to: "/token").compactMap { $0.form["refresh_token"] }
            #expect(Set(sent).count == 1)
        }

        @Test(.holds("78"), arguments: [502, 504, 520])
        func `a gateway that lost the answer is asked again at once`(status: Int) async throws {
            let scene = try await scene()
            scene.issuer.queue(Disturbance(reply: IssuerResponse(status: status), isProcessed: true))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(scene.refreshes == 2)
        }

        @Test(.holds("76", "79"), arguments: [301, 302, 303, 307, 308])
        func `a redirect is never followed`(status: Int) async throws {
            let scene = try await scene()
            let other = try await DemoIssuer.start()
            scene.issuer.queue(.redirect(to: "\(other.issuer)/token", status: status), times: 2)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 5)
            #expect(other.acceptedConnections == 0)
            scene.issuer.clearQueue()
            #expect(try await scene.refreshesAgain())
        }

        @Test(
            .holds("78", "79"),
            arguments: [
                "", "<html>portal</html>", "{}", "[]", #"{"access_token":""}"#, "{\"access_token\":\"a",
                "\u{FEFF}{}",
            ]
        )
        func `an answer without a token is no answer`(body: String) async throws {
            let scene = try await scene()
            let token = try await scene.token()
            scene.issuer.queue(IssuerResponse(status: 200, body: Array(body.utf8)), times: 2)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 5)
            #expect(try await scene.token() == token)
            scene.issuer.clearQueue()
            #expect(try await scene.refreshesAgain())
        }

        @Test(.holds("73"))
        func `a server that is away is temporary, and a get without a good token says so`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            #expect(try await scene.accessTokenExpires())
            await scene.issuer.stopListening()
            let result = try await scene.agent.tokenctl("get", "work", "--timeout", "1s")
            #expect(result.status == 5)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardOutput.isEmpty)
            scene.issuer.settings.accessLifetime = .seconds(600)
            try await scene.issuer.listen()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test func `a revoked session says that a login is needed, and what to type`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            scene.issuer.killGrants()
            #expect(try await scene.accessTokenExpires())
            let result = try await scene.agent.tokenctl("get", "work")
            #expect(result.status == 4)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("tokenctl login work"))
            let sent = scene.refreshes
            for _ in 0..<20 { #expect(try await scene.agent.tokenctl("get", "work").status == 4) }
            #expect(scene.refreshes == sent)
        }

        @Test(.holds("80")) func `Retry-After reaches the caller`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            #expect(try await scene.accessTokenExpires())
            scene.issuer.queue(IssuerResponse(status: 503, headers: [("Retry-After", "7")]), times: 5)
            let reply = try await scene.agent.socket.request("GET", "/v1/sessions/work/token?timeout=1")
            #expect(reply.status == 503)
            #expect(reply.head.lowercased().contains("\r\nretry-after: "))
            let delay = try #require(reply.json?["error"]?.object?["retry_after"]?.integer)
            #expect((5...8).contains(delay))
        }

        @Test(.holds("123", "O58")) func `text from the server cannot drive the terminal`() async throws {
            let scene = try await scene()
            let hostile = "\u{1B}]0;owned\u{7}\u{1B}[2Jx\r\n\u{202E}y"
            scene.issuer.queue(.failure("invalid_client", status: 401, description: hostile))
            let result = try await scene.agent.tokenctl("refresh", "work")
            let status = try await scene.agent.tokenctl("status", "work")
            for text in [result.standardError, status.standardOutput, scene.agent.log] {
                #expect(!text.unicodeScalars.contains { ($0.value < 32 && $0 != "\n") || $0 == "\u{202E}" })
            }
        }
    }
}
