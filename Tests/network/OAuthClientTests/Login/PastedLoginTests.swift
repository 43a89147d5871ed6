// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

struct PastedLoginTests {
    /// Logs in at tokens.example; `paste` makes the answers from what the browser was told to open.
    func logIn(
        port: Int = 0,
        _ paste: @escaping @Sendable (OpenedAddress, Int) -> String?
    ) async throws -> (LoginOutcome, Bench, ScriptedPerson) {
        var profile = ServerProfile.fixed()
        profile.authorization.redirect = .port(port)
        let bench = try Bench(profile)
        bench.exchange.always("https://tokens.example/token", .json(#"{"access_token":"at"}"#))
        let opened = Mutex<OpenedAddress?>(nil)
        let count = Mutex(0)
        let person = ScriptedPerson(memory: bench.memory) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return opened.withLock { $0 }.flatMap { paste($0, number) }
        } whenTold: { step in
            opened.withLock { $0 = OpenedAddress(step) }
        }
        let request = LoginRequest(flow: .browser, pastesRedirect: true)
        return (await bench.server.logIn(request, conversation: person), bench, person)
    }

    @Test func `the address the browser ended at finishes the login`() async throws {
        let (outcome, bench, person) = try await logIn(port: 18_499) { address, _ in
            " http://127.0.0.1:18499/callback?code=c&state=\(address.state)\n"
        }
        #expect(outcome.granted != nil)
        #expect(person.questions.map(\.kind) == [.redirectAddress])
        #expect(bench.exchange.sent.first?.form["redirect_uri"] == "http://127.0.0.1:18499/callback")
    }

    @Test func `a wrong address may be corrected twice`() async throws {
        let (outcome, _, person) = try await logIn(port: 18_499) { address, number in
            number < 3
                ? "http://127.0.0.1:18499/callback?code=c&state=wrong"
                : "http://127.0.0.1:18499/callback?code=c&state=\(address.state)"
        }
        #expect(outcome.granted != nil)
        #expect(person.questions.count == 3)
        let words = "Not the URL of this login. Paste the whole URL (starts with "
        #expect(
            person.questions.dropFirst().map(\.prompt)
                == Array(repeating: words + "http://127.0.0.1:18499/callback?)", count: 2)
        )
    }

    @Test(
        .holds("O5"),
        arguments: [
            "https://127.0.0.1:18499/callback?code=c&state=S", "http://127.0.0.1:18499/other?code=c&state=S",
            "http://127.0.0.1:18498/callback?code=c&state=S", "http://evil.example/callback?code=c&state=S",
            "http://127.0.0.1:18499/callback#code=c&state=S", "code=c&state=S", "c", "",
            "http://127.0.0.1:18499/callback?code=c",
        ]
    )
    func `an address that is not our redirect is not taken`(template: String) async throws {
        let (outcome, bench, person) = try await logIn(port: 18_499) { address, _ in
            template.split(separator: "=S", omittingEmptySubsequences: false).joined(
                separator: "=" + address.state
            )
        }
        #expect(outcome.failure?.kind == .interactionRequired)
        #expect(person.questions.count == 3)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `leaving the question cancels the login`() async throws {
        let (outcome, _, _) = try await logIn { _, _ in nil }
        #expect(outcome == .cancelled)
    }
}
