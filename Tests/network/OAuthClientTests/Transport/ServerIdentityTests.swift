// SPDX-License-Identifier: MIT

import DemoIssuer
import NIOSSL
import ServerCertificates
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// The identity of a server that a certificate proves.
@Suite(.serialized)
struct ServerIdentityTests {
    private static let authority = Result { try CertificateAuthority() }

    private static func issued(_ names: [String]) throws -> TLSIdentity {
        try authority.get().issue(for: names)
    }

    @Test(
        .holds("82"),
        arguments: [
            ("id.example.com", ["id.example.com"], true),
            ("id.example.com", ["ID.Example.COM."], true),
            ("ID.example.com.", ["id.example.com"], true),
            ("id.example.com", ["*.example.com"], true),
            ("id.example.com", ["10.1.2.3", "id.example.com"], true),
            ("10.1.2.3", ["10.1.2.3"], true),
            ("10.1.2.3", ["10.1.2.4"], false),
            // The common name alone, and an address that is written as a name.
            ("id.example.com", [], false),
            ("10.1.2.3", ["x.example.com"], false),
            ("id.example.com", ["10.1.2.3"], false),
            ("127.1", ["127.0.0.1"], false),
            ("a.id.example.com", ["*.example.com"], false),
            ("example.com", ["*.example.com"], false),
            (".example.com", ["*.example.com"], false),
            ("id.example.com", ["*"], false),
            ("id.example.com", ["*.*.com"], false),
            ("id.example.com", ["i*.example.com"], false),
            ("id.example.com", ["id.*.com"], false),
            ("id.example.com", ["id.example.com.evil.example"], false),
            ("id.example.com", ["example.com"], false),
        ] as [(String, [String], Bool)]
    )
    func `a certificate is for the hosts that it names`(host: String, names: [String], isProven: Bool) throws
    {
        let identity = try Self.issued(names)
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
        let certificate = try #require(certificates.first)
        #expect(ServerIdentity(host: host).isProven(by: certificate) == isProven)
    }

    @Test(
        .holds("82"),
        arguments: [
            ("localhost", ["127.0.0.1"], false), ("localhost", ["localhost"], true),
            ("127.0.0.1", ["127.0.0.1"], true),
        ]
    )
    func `a certificate for the address that a name leads to gets no byte of the request`(
        host: String,
        names: [String],
        isReached: Bool
    ) async throws {
        let identity = try Self.issued(names)
        let file = try TemporaryFile(try Self.authority.get().certificatePEM)
        let server = try await TinyServer.start(
            certificate: identity.certificatePEM,
            key: identity.privateKeyPEM
        ) { _ in [.send(Wire.ok)] }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        let url = try EndpointURL("https://\(host):\(server.port)/token")
        let trust = ServerTrust(caFile: file.path)
        // A fetch and a form have clients of different kinds.
        for form in [nil, FormBody([("refresh_token", "canary")])] {
            let result = await transport.outcome(of: OutgoingRequest(url: url, form: form, trust: trust))
            if isReached {
                #expect(try result.get().status == 200)
            } else {
                #expect(result == .failure(.insecure("the certificate is for another host name")))
            }
        }
        await transport.shutDown()
        await server.stop()
        #expect(server.requests.count == (isReached ? 2 : 0))
        #expect(isReached || server.bytesReceived == 0)
    }

    @Test func `hosts with the same settings are told apart`() async throws {
        let identity = try Self.issued(["127.0.0.1"])
        let file = try TemporaryFile(try Self.authority.get().certificatePEM)
        let server = try await TinyServer.start(
            certificate: identity.certificatePEM,
            key: identity.privateKeyPEM
        ) { _ in [.send(Wire.ok)] }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        var reached: [Bool] = []
        for host in ["127.0.0.1", "localhost", "127.0.0.1"] {
            let request = OutgoingRequest(
                url: try EndpointURL("https://\(host):\(server.port)/token"),
                form: FormBody([("refresh_token", "canary")]),
                trust: ServerTrust(caFile: file.path)
            )
            reached.append((try? await transport.outcome(of: request).get()) != nil)
        }
        #expect(reached == [true, false, true] && server.requests.count == 2)
        await transport.shutDown()
        await server.stop()
    }
}
