// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Whether this machine has the address `::1`.
private let hasIPv6 = File.exists("/proc/net/if_inet6")

/// The parameters and redirect URIs of authorization requests.
struct AuthorizationRequestOptionsTests {
    /// Returns the parameters of one authorization request.
    ///
    /// The server then rejects the login.
    private func asked(_ request: AuthorizationRequestOptions) async throws -> [String: String] {
        var profile = TestIssuer.profile()
        profile.authorization = request
        let login = try await BrowserLoginTests.Login(profile)
        let seen = Mutex<[String: String]>([:])
        _ = await login.run { address in
            #expect(Set(address.names).count == address.names.count)
            seen.withLock { $0 = address.parameters }
            Task { try await address.redirect("error=access_denied&state=\(address.state)") }
        }
        return seen.withLock { $0 }
    }

    @Test(.holds("O41")) func `every wish goes with the request, and nothing else`() async throws {
        let usual = try await asked(AuthorizationRequestOptions())
        let asked = try await asked(
            AuthorizationRequestOptions(
                loginHint: "alice@example.com",
                contextClasses: ["urn:a", "phr"],
                maximumAge: .seconds(90),
                parameters: ["hd": "example.com", "ui locales": "de & fr", "empty": ""]
            )
        )
        #expect(asked["login_hint"] == "alice@example.com")
        #expect(asked["acr_values"] == "urn:a phr")
        #expect(asked["max_age"] == "90")
        #expect(
            asked["hd"] == "example.com" && asked["ui locales"] == "de & fr"
                && asked["empty"]?.isEmpty == true
        )
        let added: Set<String> = ["login_hint", "acr_values", "max_age", "hd", "ui locales", "empty"]
        #expect(Set(asked.keys).subtracting(added) == Set(usual.keys))
        #expect(added.isDisjoint(with: usual.keys))
    }

    /// Redirect URIs, each with the host and path the browser requests, and the addresses to listen on.
    @Test(
        arguments: [
            ("http://127.0.0.1:8400/cb", "127.0.0.1:8400", "/cb", ["127.0.0.1"]),
            ("http://localhost:8400/", "localhost:8400", "/", ["127.0.0.1", "::1"]),
            ("HTTP://LocalHost:8400/Cb", "localhost:8400", "/Cb", ["127.0.0.1", "::1"]),
            ("http://[::1]:8400/cb?tenant=1", "[::1]:8400", "/cb", ["::1"]),
            ("http://localhost", "localhost", "/", ["127.0.0.1", "::1"]),
            ("http://localhost?x=1", "localhost", "/", ["127.0.0.1", "::1"]),
        ] as [(String, String, String, [String])]
    )
    func `an address of this machine is one where we listen`(
        uri: String,
        authority: String,
        path: String,
        addresses: [String]
    ) throws {
        let place = try #require(LoopbackRedirect(uri))
        #expect(place.authority == authority && place.path == path && place.addresses == addresses)
        #expect(AuthorizationRequestOptions(redirect: .registered(uri)).redirectURI(port: 1) == uri)
    }

    @Test(arguments: [
        "https://localhost:8400/cb", "http://localhost.example/cb", "http://localhostx:1/",
        "http://127.0.0.1x/",
        "http://127.0.0.2:8400/", "http://127.0.0.1@evil.example/", "http://app.example/cb",
        "com.example.app:/cb",
        "http://[::1]x:8400/", "http://localhost:/", "http://localhost:+1/", "http://localhost:70000/",
    ])
    func `any other address is brought by the person`(uri: String) {
        #expect(LoopbackRedirect(uri) == nil)
    }

    /// Logs in at tokens.example with `redirect`; `browse` is what the browser does.
    private func logIn(
        _ redirect: AuthorizationRequestOptions.Redirect,
        parameters: [String: String] = [:],
        browse: @escaping @Sendable (OpenedAddress) async throws -> Void = { _ in },
        paste: @escaping @Sendable (OpenedAddress) -> String? = { _ in nil }
    ) async throws -> (LoginOutcome, Bench, ScriptedPerson) {
        var profile = ServerProfile.fixed()
        profile.authorization = AuthorizationRequestOptions(redirect: redirect, parameters: parameters)
        let bench = try Bench(profile, sleep: BrowserLoginTests.forEver)
        bench.exchange.always("https://tokens.example/token", .json(#"{"access_token":"at"}"#))
        let opened = Mutex<OpenedAddress?>(nil)
        let person = ScriptedPerson(memory: bench.memory) { _ in
            opened.withLock { $0 }.flatMap(paste)
        } whenTold: { step in
            guard let address = OpenedAddress(step) else { return }
            opened.withLock { $0 = address }
            Task { try await browse(address) }
        }
        return (await bench.server.logIn(LoginRequest(), conversation: person), bench, person)
    }

    /// Returns a port that was free just now.
    private func freePort() throws -> Int { Int(try LocalPort("127.0.0.1").port) }

    @Test(.holds("O10")) func `localhost is answered at both addresses`() async throws {
        for address in ["127.0.0.1", "::1"] where address != "::1" || hasIPv6 {
            let port = try freePort()
            let uri = "http://localhost:\(port)/cb"
            let (outcome, bench, _) = try await logIn(.registered(uri)) { opened in
                let request =
                    "GET /cb?code=c&state=\(opened.state) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
                _ = try await RawConnection.exchange(host: address, port: port, request)
            }
            #expect(outcome.granted != nil, "\(address): \(outcome)")
            #expect(bench.exchange.sent.last?.form["redirect_uri"] == uri)
        }
    }

    @Test(.holds("95"), .enabled(if: hasIPv6, "this machine has no IPv6"))
    func `a port that somebody has at one of the addresses is an error`() async throws {
        for isSecond in [false, true] {
            let port = try UInt16(freePort())
            let other = isSecond ? try LocalPort(onIPv6: port) : try LocalPort("127.0.0.1", port: port)
            let uri = "http://localhost:\(port)/cb"
            let (outcome, _, person) = try await logIn(.registered(uri))
            let place = isSecond ? "[::1]:\(port)" : "127.0.0.1:\(port)"
            #expect(outcome.failure?.kind == .misconfigured)
            #expect(outcome.failure?.message == "cannot listen on \(place): Address already in use")
            #expect(outcome.failure?.remedy == .set("--paste"))
            #expect(person.steps.isEmpty && !other.isAsked)
        }
    }

    /// Redirect URIs of other hosts, and the address that the browser then shows.
    @Test(
        .holds("O10"),
        arguments: [
            ("https://app.example/cb", "https://app.example/cb?"),
            ("https://app.example", "https://app.example/?"),
            ("com.example.app:/cb", "com.example.app:/cb?"),
            ("http://app.example/cb?t=1", "http://app.example/cb?t=1&"),
        ]
    )
    func `a redirect that ends elsewhere is pasted`(uri: String, start: String) async throws {
        let (outcome, bench, person) = try await logIn(.registered(uri)) { _ in
        } paste: {
            "\(start)code=c&state=\($0.state)"
        }
        #expect(outcome.granted != nil, "\(outcome)")
        #expect(person.questions.map(\.kind) == [.redirectAddress])
        #expect(bench.exchange.sent.last?.form["redirect_uri"] == uri)
    }

    @Test(
        .holds("O10"),
        arguments: [
            "https://app.example/cb?code=c&state=x", "https://app.example/cb?code=c",
            "https://evil.example/cb?code=c&state=",
        ]
    )
    func `a pasted redirect needs our state all the same`(text: String) async throws {
        let (outcome, bench, _) = try await logIn(.registered("https://app.example/cb")) { _ in
        } paste: {
            text.hasSuffix("=") ? text + $0.state : text
        }
        #expect(outcome.failure?.kind == .interactionRequired)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `an answer behind a number sign is explained`() async throws {
        let (outcome, _, _) = try await logIn(.registered("https://app.example/cb")) { _ in
        } paste: {
            "https://app.example/cb#code=c&state=\($0.state)"
        }
        #expect(outcome.failure?.remedy?.text.contains("response_mode = \"query\"") == true)
    }
}
