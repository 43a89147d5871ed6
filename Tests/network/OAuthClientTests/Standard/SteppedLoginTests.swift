// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins with stricter requirements than the current login (RFC 9470).
struct SteppedLoginTests {
    /// Logs in at the test issuer as alice, whose current login is `present`.
    private func logIn(
        _ stepUp: StepUp,
        present: PreviousLogin?,
        flow: LoginFlow = .browser
    ) async throws -> (LoginOutcome, OpenedAddress?, Bench) {
        let issuer = try await TestIssuer()
        let bench = try Bench(TestIssuer.profile(), sleep: BrowserLoginTests.forEver)
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        bench.exchange.always("https://id.example/tenant/revoke", .json("{}"))
        let opened = Mutex<OpenedAddress?>(nil)
        let exchange = bench.exchange
        let person = ScriptedPerson(
            memory: bench.memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                opened.withLock { $0 = address }
                let nonce = address.parameters["nonce"] ?? ""
                guard let token = try? issuer.idToken(["nonce": .string(nonce)]) else { return }
                let body = #"{"access_token":"at","refresh_token":"rt","id_token":"\#(token)"}"#
                exchange.always(TestIssuer.tokenEndpoint, .json(body))
                Task { try await address.redirect("code=c&state=\(address.state)") }
            }
        )
        let request = LoginRequest(flow: flow, present: present, stepUp: stepUp)
        let outcome = await bench.server.logIn(request, conversation: person)
        return (outcome, opened.withLock { $0 }, bench)
    }

    @Test(.holds("195")) func `new scopes are asked for together with the granted ones`() async throws {
        let stepUp = StepUp(
            scopes: ["admin", "api"],
            contextClasses: ["phr", "mfa"],
            maximumAge: .seconds(20)
        )
        let present = PreviousLogin(scope: ["openid", "mail"], subject: "alice")
        let (outcome, asked, _) = try await logIn(stepUp, present: present)
        #expect(outcome.granted?.subject == "alice", "\(outcome)")
        #expect(asked?.parameters["scope"] == "openid api mail admin")
        #expect(asked?.parameters["acr_values"] == "phr mfa" && asked?.parameters["max_age"] == "20")
    }

    @Test(.holds("195")) func `another account is refused, and its tokens are revoked`() async throws {
        let present = PreviousLogin(scope: ["openid"], subject: "bob")
        let (outcome, _, bench) = try await logIn(StepUp(scopes: ["admin"]), present: present)
        #expect(outcome.failure?.code == "other_account", "\(outcome)")
        let revoked = bench.exchange.posts(to: "https://id.example/tenant/revoke").map { $0.form["token"] }
        #expect(revoked == ["rt", "at"])
    }

    @Test func `an import asks for nothing`() async throws {
        let (outcome, _, bench) = try await logIn(StepUp(scopes: ["admin"]), present: nil, flow: .import)
        #expect(outcome.failure?.remedy == .set("--flow browser"), "\(outcome)")
        #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).isEmpty)
    }

    @Test func `a flow without a browser says that it cannot ask`() async throws {
        let (outcome, asked, bench) = try await logIn(StepUp(maximumAge: .zero), present: nil, flow: .device)
        #expect(outcome.failure?.remedy == .set("--flow browser"))
        #expect(asked == nil && bench.exchange.posts(to: TestIssuer.tokenEndpoint).isEmpty)
    }
}
