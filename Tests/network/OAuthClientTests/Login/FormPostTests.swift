// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

/// Answers that a server makes the browser post (OAuth 2.0 Form Post Response Mode).
@Suite(.timeLimit(.minutes(5)))
struct FormPostTests {
    private static let form = "Content-Type: application/x-www-form-urlencoded"

    /// Sends `request` to a waiting listener, where `S` stands for our state and `P` for the port.
    private func answer(
        to request: String,
        takesForms: Bool = true
    ) async throws -> (page: String, response: AuthorizationTransaction.Response?) {
        var place = LoopbackRedirect.standard(port: 0)
        place.takesForms = takesForms
        let waiting = try await WaitingListener(place)
        let (listener, address) = (waiting.listener, waiting.address)
        let text = request.replacing("=S", with: "=\(address.state)").replacing(
            ":P",
            with: ":\(listener.port)"
        )
        let page = try await RawConnection.rejection(port: listener.port, text)
        let isTaken = page.hasPrefix("HTTP/1.1 303 ")
        let response = isTaken ? try await listener.response() : nil
        await listener.close()
        return (page, response)
    }

    private func post(
        _ body: String,
        fields: [String] = [form],
        length: String? = nil,
        path: String = "/callback"
    ) -> String {
        // The state that takes the place of "S" has 43 characters.
        let count = body.utf8.count + (body.contains("=S") ? 42 : 0)
        let lines =
            ["POST \(path) HTTP/1.1", "Host: 127.0.0.1:P"] + fields + [
                "Content-Length: \(length ?? "\(count)")"
            ]
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    @Test func `a form with our state finishes the login`() async throws {
        let (_, response) = try await answer(to: post("code=c0de&state=S&iss=https%3A%2F%2Fid.example"))
        #expect(response == .code("c0de"))
    }

    @Test func `a form is taken only where the request asked for one`() async throws {
        let (page, _) = try await answer(to: post("code=c&state=S"), takesForms: false)
        #expect(page.hasPrefix("HTTP/1.1 405 ") && page.contains("response_mode"))
    }

    @Test func `a query is taken too`() async throws {
        let (_, response) = try await answer(
            to: "GET /callback?error=x&state=S HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n"
        )
        guard case .refused = response else {
            Issue.record("\(String(describing: response))")
            return
        }
    }

    @Test func `a form that is wrong is refused`() async throws {
        let long = "code=\(String(repeating: "x", count: CallbackRequest.formLimit))&state=S"
        let rows: [(String, Int)] = [
            (post("code=c&state=wrong"), 400), (post("code=c"), 400), (post(""), 400),
            (post("code=c&state=S&state=S"), 400), (post("code=c&state=S", path: "/other"), 404),
            (post("code=c&state=S", fields: []), 415),
            (post("code=c&state=S", fields: ["Content-Type: text/plain"]), 415),
            (post("code=c&state=S", fields: [Self.form, Self.form]), 415),
            (post("code=c&state=S", fields: [Self.form, "Content-Length: 1"]), 400),
            (post("code=c&state=S", fields: [Self.form, "Transfer-Encoding: chunked"]), 400),
            (post("code=c&state=S", length: "-1"), 400), (post("code=c&state=S", length: ""), 400),
            (post("code=c\n&state=S"), 400), (post(long), 413),
            (post("code=c&state=S", length: "99999999999999999999"), 413),
        ]
        for (request, status) in rows {
            let (page, _) = try await answer(to: request)
            #expect(page.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(300)): \(page.prefix(30))")
        }
    }

    @Test func `an answer in a form is not pasted, and nothing is sent for it`() async throws {
        let name = try #require(SessionName("work"))
        for (mode, isRefused) in [("form_post", true), ("query", false)] {
            var profile = ServerProfile.fixed()
            profile.authorization.parameters = ["response_mode": mode]
            let bench = try Bench(profile)
            let servers = AuthorizationServers(profiles: [name: profile], tools: bench.server.tools)
            let person = ScriptedPerson(memory: bench.memory)
            let request = LoginRequest(pastesRedirect: true)
            let outcome = await servers.logIn(name, request, conversation: person)
            #expect((outcome.failure?.remedy == .retry("without --paste")) == isRefused)
            #expect(person.questions.isEmpty == isRefused && bench.exchange.sent.isEmpty)
        }
    }

    @Test func `a redirect without an answer says where it may be`() async throws {
        let (page, _) = try await answer(to: "GET /callback HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n")
        #expect(page.hasPrefix("HTTP/1.1 400 ") && page.contains("after a #"))
        #expect(page.contains("response_mode = &quot;query&quot;"), "\(page)")
    }
}
