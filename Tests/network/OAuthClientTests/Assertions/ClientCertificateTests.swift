// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A client that proves itself by a certificate in the handshake (RFC 8705).
struct ClientCertificateTests {
    private let answer = ClientAssertionTests.answer

    private func profile(_ certificate: String, _ key: String) -> ServerProfile {
        var profile = TestIssuer.profile()
        profile.client.proof = .certificate(certificate, key: .file(key))
        return profile
    }

    private func bench(
        certificate: String = Certificates.good,
        key: String = Certificates.goodKey,
        metadata: [String: JSONValue] = [:],
        _ body: (Bench) async throws -> Void
    ) async throws {
        let files = (try TemporaryFile(certificate), try TemporaryFile(key))
        let bench = try Bench(profile(files.0.path, files.1.path))
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata(metadata)))
        try await body(bench)
    }

    private static let aliases: [String: JSONValue] = [
        "mtls_endpoint_aliases": [
            "token_endpoint": "https://mtls.example/token",
            "revocation_endpoint": "https://mtls.example/revoke",
            "device_authorization_endpoint": "https://mtls.example/device",
        ]
    ]

    @Test(.holds("O56")) func `the handshake shows the certificate and the form only the name`() async throws
    {
        try await bench { bench in
            bench.exchange.expect(TestIssuer.tokenEndpoint, answer)
            #expect(try await bench.refresh().granted != nil)
            let sent = try #require(bench.exchange.posts(to: TestIssuer.tokenEndpoint).first)
            #expect(sent.certificates == 1)
            #expect(sent.formNames == ["grant_type", "refresh_token", "client_id"])
            #expect(sent.headers["authorization"] == nil)
        }
    }

    @Test(.holds("O56"), arguments: [ClientSecretMethod.basic, .post])
    func `a server that requires both gets a certificate and a secret`(
        method: ClientSecretMethod
    )
        async throws
    {
        let files = (try TemporaryFile(Certificates.good), try TemporaryFile(Certificates.goodKey))
        var profile = TestIssuer.profile()
        profile.client.proof = .secret(.command(["x"]), method)
        profile.client.certificate = HandshakeCertificate(files.0.path, key: .file(files.1.path))
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata(Self.aliases)))
        bench.exchange.expect("https://mtls.example/token", answer)
        #expect(try await bench.refresh().granted != nil)
        let sent = try #require(bench.exchange.sent.last)
        #expect(sent.certificates == 1)
        #expect((sent.headers["authorization"] != nil) == (method == .basic))
        #expect(sent.form["client_secret"] == (method == .post ? "s" : nil))
        // Without the certificate, the secret alone is not shown to anybody.
        unlink(files.0.path)
        #expect(try await bench.refresh().failure?.kind == .helperFailed)
        #expect(bench.exchange.sent.filter { $0.method == "POST" }.count == 1)
    }

    @Test(.holds("O56")) func `requests go to the addresses for certificates`() async throws {
        try await bench(metadata: Self.aliases) { bench in
            bench.exchange.expect("https://mtls.example/device", DeviceLoginTests.start())
            bench.exchange.expect(
                "https://mtls.example/token",
                #"{"access_token":"at","refresh_token":"rt"}"#
            )
            let person = ScriptedPerson(memory: bench.memory)
            let login = await bench.server.logIn(LoginRequest(flow: .device), conversation: person)
            let grant = try #require(login.granted, "\(login)")
            #expect(grant.tokenEndpoint == "https://mtls.example/token")
            bench.exchange.expect("https://mtls.example/token", answer)
            #expect(try await bench.refresh(tokenEndpoint: grant.tokenEndpoint).granted != nil)
            bench.exchange.always("https://mtls.example/revoke", .json(""))
            let tokens = RevocationRequest(
                refreshToken: grant.tokens.refreshToken,
                accessToken: nil,
                tokenEndpoint: grant.tokenEndpoint
            )
            #expect(await bench.server.revoke(tokens) == .revoked)
            let posts = bench.exchange.sent.filter { $0.method == "POST" }
            #expect(posts.count == 4 && posts.allSatisfy { $0.certificates == 1 })
        }
    }

    @Test(.holds("O56")) func `a login without a certificate is not refreshed with one`() async throws {
        try await bench(metadata: Self.aliases) { bench in
            let failure = try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).failure
            #expect(failure?.kind == .misconfigured)
            #expect(bench.exchange.sent.allSatisfy { $0.method == "GET" })
        }
    }

    @Test(.holds("O56")) func `an address for certificates is checked like any other`() async throws {
        let inside: [String: JSONValue] = [
            "mtls_endpoint_aliases": ["token_endpoint": "https://10.0.0.1/token"]
        ]
        try await bench(metadata: inside) { bench in
            bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
            bench.exchange.always(TestIssuer.tokenEndpoint, .json("", status: 503))
            let outcome = try await bench.refresh()
            #expect(outcome.failure?.kind == .busy)
            #expect(!bench.exchange.sent.contains { $0.url.contains("10.0.0.1") })
        }
    }

    @Test(arguments: [
        (Certificates.expired, Certificates.expiredKey, "client_certificate_file", "the certificate expired"),
        (
            Certificates.future, Certificates.goodKey, "client_certificate_file",
            "the certificate is not valid yet"
        ),
        (
            Certificates.good, Certificates.otherKey, "client_certificate_file",
            "does not match the key in client_key_file"
        ),
        (
            Certificates.goodKey, Certificates.goodKey, "client_certificate_file",
            "contains no PEM certificate"
        ),
        (
            Certificates.good, Certificates.good, "client_key_file",
            "contains a certificate, not a private key"
        ),
        (
            Certificates.good, TestKeys.encryptedSEC1, "client_key_file",
            "the key is encrypted with a passphrase"
        ),
        (Certificates.good, TestKeys.edwardsJWK, "client_key_file", "contains no PEM key"),
    ])
    func `a certificate that cannot be shown is told, and nothing is sent`(
        certificate: String,
        key: String,
        name: String,
        words: String
    ) async throws {
        try await bench(certificate: certificate, key: key) { bench in
            let failure = try #require(try await bench.refresh().failure)
            // An encrypted key stays one; all else another program may be about to write.
            #expect(failure.kind == (words.contains("encrypted") ? .misconfigured : .helperFailed))
            #expect(
                failure.message.hasPrefix("\(name) /") && failure.message.contains(": \(words)"),
                "\(failure)"
            )
            #expect(bench.exchange.sent.allSatisfy { $0.method == "GET" })
        }
    }
}
