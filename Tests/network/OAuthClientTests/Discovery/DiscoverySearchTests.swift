// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The addresses at which an issuer's metadata is searched, and the issuers it may name.
struct DiscoverySearchTests {
    private static let address = "https://other.example/p/.well-known/openid-configuration?p=signin"

    private func bench(
        metadata: String? = nil,
        issuer: String = TestIssuer.url,
        _ change: (inout ServerProfile) -> Void = { _ in }
    ) throws -> Bench {
        var profile = TestIssuer.profile()
        profile.kind = .oidc(issuer: issuer, metadata: metadata)
        change(&profile)
        return try Bench(profile)
    }

    private func failure(_ bench: Bench) async -> RefreshFailure? {
        do throws(RefreshFailure) {
            _ = try await bench.server.discovery.metadata()
            return nil
        } catch {
            return error
        }
    }

    /// Responses of servers for an address that they do not know.
    static let nonsense: [ScriptedExchange.Answer] = [
        .json("", status: 302, headers: ["location": "/login"]), .json("<html>hello</html>"),
        .json("", status: 403),
        .json("{}"), .json("[]"), .json("{\"issuer\":\"https://evil.example\"}"), .json("", status: 404),
        .json("<html></html>", status: 404), .failure(.oversized("the response is larger than 1 MiB")),
    ]

    @Test(.holds("O34"), arguments: nonsense)
    func `nonsense at one place does not end the search`(answer: ScriptedExchange.Answer) async throws {
        let bench = try bench()
        bench.exchange.expect(TestIssuer.discoveryURL, answer)
        bench.exchange.expect(TestIssuer.oauthURL, TestIssuer.metadata())
        #expect(try await bench.server.discovery.metadata().token.description == TestIssuer.tokenEndpoint)
        #expect(bench.exchange.isExhausted)
    }

    @Test(.holds("193"), arguments: nonsense)
    func `nor does it at the places of a resource or of the server that it names`(
        answer: ScriptedExchange.Answer
    ) async throws {
        let bench = try ResourceBench()
        bench.challenge(nil)
        bench.exchange.always("https://api.example/.well-known/oauth-protected-resource/v1/mcp", answer)
        bench.exchange.always(
            "https://api.example/.well-known/oauth-protected-resource",
            .json(ResourceBench.document())
        )
        bench.exchange.always(ResourceBench.issuerURL, answer)
        bench.exchange.always(
            "https://as.example/.well-known/openid-configuration/tenant",
            .json(ResourceBench.metadata())
        )
        let login = await bench.logIn()
        #expect(login.outcome.granted != nil, "\(login.outcome)")
    }

    @Test(arguments: [
        ScriptedExchange.Answer.json("", status: 500), .json("", status: 503), .json("", status: 429),
        .failure(.unreachable("x")), .failure(.ambiguous("no answer in time")),
    ])
    func `a server in trouble ends it as temporary`(answer: ScriptedExchange.Answer) async throws {
        let bench = try bench()
        bench.exchange.expect(TestIssuer.discoveryURL, answer)
        let failure = await failure(bench)
        #expect(failure?.kind.consequences.prospect == .soon, "\(String(describing: failure))")
        #expect(bench.exchange.sent.count == 1)
    }

    @Test func `a redirect says where it leads and that it is not followed`() async throws {
        let bench = try bench()
        let headers = ["location": "https://login.example/\u{1B}[2Jstart?token=secret"]
        bench.exchange.expect(TestIssuer.discoveryURL, status: 301, "", headers: headers)
        bench.exchange.expect(TestIssuer.oauthURL, status: 404, "")
        #expect(
            await failure(bench)?.message
                == "\(TestIssuer.discoveryURL): returned 301: refusing to follow the redirect to "
                + "https://login.example/ [2Jstart"
        )
    }

    @Test func `of several failures the most telling one is told`() async throws {
        let bench = try bench()
        bench.exchange.expect(
            TestIssuer.discoveryURL,
            TestIssuer.metadata(["issuer": "https://id.example/other"])
        )
        bench.exchange.expect(TestIssuer.oauthURL, status: 302, "")
        let failure = await failure(bench)
        #expect(failure?.kind == .misconfigured)
        #expect(failure?.message.contains("is for issuer https://id.example/other, not") == true)
        #expect(
            failure?.remedy
                == .set(
                    "issuer = \"https://id.example/other\" and metadata_url = "
                        + "\"\(TestIssuer.discoveryURL)\" if you trust this server"
                )
        )
    }

    // MARK: Names of issuers

    /// The configured issuer, the published one, and whether they are the same without a warning.
    ///
    /// Only an empty path and `/` are.
    @Test(
        .holds("O34"),
        arguments: [
            ("https://id.example/", "https://id.example", true),
            ("https://id.example", "https://id.example/", true),
            ("https://id.example/a", "https://id.example/a/", false),
            ("https://ID.example", "https://id.example", false),
            ("https://id.example:443", "https://id.example", false),
            ("https://id.example//", "https://id.example/", false),
            ("https://id.example/", "https://id.example/?", false),
        ]
    )
    func `an empty path is the same as a slash`(configured: String, named: String, isSame: Bool) async throws
    {
        let bench = try bench { $0.kind = .oidc(issuer: configured) }
        let url = try EndpointURL(configured)
        bench.exchange.expect(WellKnownURL.openID(url), TestIssuer.metadata(["issuer": .string(named)]))
        bench.exchange.always(WellKnownURL.authorizationServer(url), .json("", status: 404))
        guard isSame else {
            let failure = await failure(bench)
            #expect(failure?.kind == .misconfigured)
            return
        }
        // From here on, the document's spelling applies.
        #expect(try await bench.server.discovery.metadata().issuer == named)
    }

    @Test(
        .holds("193"),
        arguments: [
            ("https://as.example/", "https://as.example"), ("https://as.example", "https://as.example/"),
        ]
    )
    func `a resource may spell an empty path in the other way`(named: String, published: String) async throws
    {
        for configured in [nil, named, published] {
            let bench = try ResourceBench(issuer: configured)
            bench.exchange.always(
                ResourceBench.metadataURL,
                .json(ResourceBench.document(["authorization_servers": [.string(named)]]))
            )
            bench.exchange.always(
                "https://as.example/.well-known/oauth-authorization-server",
                .json(ResourceBench.metadata(["issuer": .string(published)]))
            )
            let login = await bench.logIn()
            let grant = try #require(login.outcome.granted, "\(login.outcome)")
            #expect(try await bench.refresh(of: grant.server).granted != nil)
        }
    }

    /// The configured issuer, the published one, and whether its spelling is adopted.
    ///
    /// A final slash, the case of the host and the default port may differ.
    @Test(
        .holds("O34"),
        arguments: [
            ("https://t.eu.auth0.com", "https://t.eu.auth0.com/", true),
            ("https://auth.example/application/o/app", "https://auth.example/application/o/app/", true),
            ("https://adfs.example/adfs", "https://ADFS.example/adfs", true),
            ("https://am.example/am/oauth2", "https://am.example:443/am/oauth2", true),
            ("https://id.example", "https://id.example.evil.example", false),
            ("https://id.example/a", "https://id.example/A", false),
            ("https://id.example", "https://id.example:8443", false),
            ("https://id.example/a", "https://id.example/a//", false),
            ("https://id.example", "http://127.0.0.1", false),
        ]
    )
    func `a new session adopts the spelling of the document, and nothing else`(
        written: String,
        published: String,
        isAdopted: Bool
    ) async throws {
        let bench = try bench()
        let url = try EndpointURL(written)
        bench.exchange.always(
            WellKnownURL.openID(url),
            .json(TestIssuer.metadata(["issuer": .string(published)]))
        )
        bench.exchange.always(WellKnownURL.authorizationServer(url), .json("", status: 404))
        let description = Issuer.Description(issuer: written, trust: ServerTrust())
        let found = await ServerMetadataCache.fetch(description, bench.server.tools, match: .spelling)
        guard isAdopted else {
            #expect(throws: RefreshFailure.self) { try found.get() }
            return
        }
        #expect(IssuerCapabilities(try found.get()).issuer == published)
        // The error for a session with another spelling names the right one.
        let strict = await ServerMetadataCache.fetch(description, bench.server.tools)
        guard case .failure(let failure) = strict else {
            return #expect(IssuerNameRules.areSame(written, published))
        }
        #expect(failure.remedy == .set("issuer = \"\(published)\", as the server spells it"))
    }

    @Test func `a template stands for no issuer`() async throws {
        let bench = try bench()
        let template = "https://login.example/{tenantid}/v2.0"
        bench.exchange.always(
            TestIssuer.discoveryURL,
            .json(TestIssuer.metadata(["issuer": .string(template)]))
        )
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        let failure = await failure(bench)
        #expect(failure?.message.contains("for many tenants") == true)
        #expect(failure?.remedy?.text.contains("your own tenant") == true)
    }

    /// Issuers with the address of their metadata, and whether the configuration accepts them.
    @Test(
        arguments: [
            ("https://login.example/{tenantid}/v2.0", address, true),
            ("https://login.example/{tenantid}/v2.0", nil, false),
            ("https://login.example/{tenant}/v2.0", address, false),
            ("https://{host}/{tenantid}/v2.0", address, false),
            ("https://login.example/{tenantid}/{tenantid}", address, false),
        ] as [(String, String?, Bool)]
    )
    func `a template of tenants needs the address of its metadata`(
        issuer: String,
        metadata: String?,
        isFit: Bool
    ) {
        #expect(
            ServerProfile.Kind.oidc(issuer: issuer, metadata: metadata).settings.problems.isEmpty == isFit
        )
    }

    @Test func `a configured template is the issuer of its metadata`() async throws {
        let template = "https://login.example/{tenantid}/v2.0"
        let bench = try bench(metadata: Self.address, issuer: template)
        bench.exchange.expect(Self.address, TestIssuer.metadata(["issuer": .string(template)]))
        #expect(try await bench.server.discovery.metadata().issuer == template)
    }

    @Test(
        arguments: [
            ("https://login.example/7a-b/v2.0", "7a-b", true),
            ("https://login.example/7a-b/v2.0", nil, true),
            ("https://login.example/7a-b/v2.0", "7a-c", false),
            ("https://login.example/7a-b/v2.0", "", false),
            ("https://login.example//v2.0", "", false),
            ("https://login.example/a/b/v2.0", "a/b", false),
            ("https://login.example/{tenantid}/v2.0", "{tenantid}", false),
            ("https://login.evil/7a-b/v2.0", "7a-b", false),
            ("https://login.example/7a-b/v2.0x", "7a-b", false),
        ] as [(String, String?, Bool)]
    )
    func `a template names the issuers of its tenants and no others`(
        name: String,
        tenant: String?,
        isIssuer: Bool
    ) {
        let template = "https://login.example/{tenantid}/v2.0"
        #expect(IssuerNameRules.isName(name, of: template, tenant: tenant) == isIssuer)
    }

    // MARK: Metadata at an address of its own

    @Test func `the metadata may be where a person has written, and only there`() async throws {
        let bench = try bench(metadata: Self.address)
        bench.exchange.expect(Self.address, TestIssuer.metadata())
        let metadata = try await bench.server.discovery.metadata()
        #expect(metadata.issuer == TestIssuer.url)
        // The document's own host may have a private address. Other hosts that only the document names may not.
        #expect(metadata.publicAddressOnly(metadata.token))
        #expect(!metadata.publicAddressOnly(try EndpointURL("https://other.example/token")))
        #expect(bench.exchange.sent.map(\.url) == [Self.address])
    }

    @Test(.holds("O34")) func `its issuer is still the one that is written`() async throws {
        let bench = try bench(metadata: Self.address)
        bench.exchange.expect(Self.address, TestIssuer.metadata(["issuer": "https://evil.example"]))
        #expect(await failure(bench)?.kind == .misconfigured)
    }

    @Test func `the issuer may be any name there`() async throws {
        let bench = try bench(metadata: Self.address) {
            $0.kind = .oidc(issuer: "acme.com", metadata: Self.address)
        }
        bench.exchange.expect(Self.address, TestIssuer.metadata(["issuer": "acme.com"]))
        #expect(try await bench.server.discovery.metadata().issuer == "acme.com")
        #expect(ServerProfile.Kind.oidc(issuer: "acme.com", metadata: Self.address).settings.problems.isEmpty)
    }

    @Test(.holds("O34")) func `what belongs to the server belongs to the address of its metadata`() throws {
        let claimed = "https://accounts.example"
        let plain = ServerProfile.Kind.oidc(issuer: claimed).identity
        let elsewhere = ServerProfile.Kind.oidc(issuer: claimed, metadata: Self.address).identity
        #expect(plain.address == claimed && plain.pool == nil)
        #expect(elsewhere.address == Self.address && elsewhere.pool == claimed)
        var profile = TestIssuer.profile()
        profile.client.proof = .secret(.given(to: try #require(SessionName("work"))), .automatic)
        let purposes = [nil, Self.address].map { address in
            profile.kind = .oidc(issuer: claimed, metadata: address)
            return profile.givenSecret?.issuer
        }
        #expect(purposes == [claimed, Self.address])
    }

    // MARK: Endpoints that are written

    private func withEndpoints(_ profile: inout ServerProfile) {
        profile.endpoints = EndpointOverrides(
            token: "https://id.example/t",
            authorization: "https://id.example/a",
            keySet: "https://id.example/k"
        )
    }

    @Test(.holds("O30"), arguments: nonsense)
    func `endpoints that are written need no metadata`(answer: ScriptedExchange.Answer) async throws {
        let bench = try bench(withEndpoints)
        bench.exchange.always(TestIssuer.discoveryURL, answer)
        bench.exchange.always(TestIssuer.oauthURL, answer)
        let metadata = try await bench.server.discovery.metadata()
        #expect(metadata.token.description == "https://id.example/t" && metadata.issuer == TestIssuer.url)
        #expect(metadata.authorization?.description == "https://id.example/a" && metadata.revocation == nil)
        #expect(metadata.remarks == ["no metadata, using the configured endpoints"])
    }

    @Test(.holds("O30")) func `they do not replace metadata that are only away, or were there once`()
        async throws
    {
        let bench = try bench(withEndpoints)
        bench.exchange.expect(TestIssuer.discoveryURL, status: 503, "")
        #expect(await failure(bench)?.kind == .busy)
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        let known = try await bench.server.discovery.metadata()
        #expect(known.revocation != nil)
        bench.exchange.always(TestIssuer.discoveryURL, .json("", status: 404))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        bench.clock.advance(by: ServerMetadataCache.lifetime)
        #expect(try await bench.server.discovery.metadata() == known)
    }

    @Test func `without a token endpoint they cannot stand in for metadata`() async throws {
        let bench = try bench { $0.endpoints = EndpointOverrides(authorization: "https://id.example/a") }
        bench.exchange.always(TestIssuer.discoveryURL, .json("", status: 404))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        #expect(await failure(bench)?.kind == .misconfigured)
    }
}
