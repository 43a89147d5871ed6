// SPDX-License-Identifier: MIT

import NIOSSL
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The servers that get any byte of a request.
///
/// Serialized, because the tests count connections.
@Suite(.serialized)
struct TransportSecurityTests {
    @Test(.holds("83")) func `a private authority is trusted when its file says so`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(Wire.ok)]
        }
        let trust = ServerTrust(caFile: file.path, pins: [Certificates.goodPin])
        #expect(try await Wire.post(server, scheme: "https", trust: trust).get().status == 200)
    }

    /// The defect of a certificate.
    enum BadCertificate: String, CaseIterable {
        case unknownAuthority
        case selfSigned
        case expired
        case notYetValid
        case forAnotherHost
        case signedWithSHA1
        case shortKey

        var certificate: String {
            switch self {
            case .unknownAuthority: Certificates.good
            case .selfSigned: Certificates.selfSigned
            case .expired: Certificates.expired
            case .notYetValid: Certificates.future
            case .forAnotherHost: Certificates.other
            case .signedWithSHA1: WeakCertificates.sha1
            case .shortKey: WeakCertificates.short
            }
        }

        var key: String {
            switch self {
            case .unknownAuthority, .notYetValid: Certificates.goodKey
            case .selfSigned: Certificates.selfSignedKey
            case .expired: Certificates.expiredKey
            case .forAnotherHost: Certificates.otherKey
            case .signedWithSHA1: WeakCertificates.sha1Key
            case .shortKey: WeakCertificates.shortKey
            }
        }

        var authority: String {
            switch self {
            case .unknownAuthority, .selfSigned, .expired, .notYetValid, .forAnotherHost:
                Certificates.authority
            case .signedWithSHA1, .shortKey: WeakCertificates.authority
            }
        }
    }

    @Test(.holds("82", "O14"), arguments: BadCertificate.allCases)
    func `a bad certificate is refused before any byte of the request`(bad: BadCertificate) async throws {
        let file = try TemporaryFile(bad.authority)
        let server = try await TinyServer.start(certificate: bad.certificate, key: bad.key) { _ in
            [.send(Wire.ok)]
        }
        let trust = ServerTrust(caFile: bad == .unknownAuthority ? nil : file.path)
        let result = try await Wire.post(server, scheme: "https", trust: trust)
        guard case .failure(let failure) = result else {
            Issue.record("\(result)")
            return
        }
        let told = failure.refreshFailure(at: try EndpointURL("https://id.example/token"))
        #expect(told.kind == .insecure)
        if bad == .unknownAuthority { #expect(told.remedy?.text.contains("ca_file") == true) }
        #expect(server.bytesReceived == 0)
    }

    @Test(.holds("82", "O14")) func `TLS 1·1 is refused before any byte of the request`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(
            certificate: Certificates.good,
            key: Certificates.goodKey,
            maximumTLSVersion: .tlsv11
        ) { _ in [.send(Wire.ok)] }
        let result = try await Wire.post(server, scheme: "https", trust: ServerTrust(caFile: file.path))
        guard case .failure(.insecure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(server.bytesReceived == 0)
    }

    @Test(.holds("83")) func `a key that matches no pin gets no byte of the request`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(Wire.ok)]
        }
        let pin = "sha256/" + Base64.encoded([UInt8](repeating: 7, count: 32))
        let result = try await Wire.post(
            server,
            scheme: "https",
            trust: ServerTrust(caFile: file.path, pins: [pin])
        )
        #expect(result == .failure(.insecure("the server's key matches no pin")))
        #expect(server.connections == 1)
        #expect(server.bytesReceived == 0)
    }

    @Test(.holds("83")) func `one matching pin of several is enough`() async throws {
        let file = try TemporaryFile(Certificates.authority)
        let server = try await TinyServer.start(certificate: Certificates.good, key: Certificates.goodKey) {
            _ in
            [.send(Wire.ok)]
        }
        let backup = "sha256/" + Base64.encoded([UInt8](repeating: 7, count: 32))
        let trust = ServerTrust(caFile: file.path, pins: [backup, Certificates.goodPin])
        #expect(try await Wire.post(server, scheme: "https", trust: trust).get().status == 200)
    }

    @Test(.holds("83")) func `without its CA file no server is connected to`() async throws {
        let empty = try TemporaryFile("no certificate in here\n")
        for path in ["/nonexistent/ca.pem", empty.path] {
            let server = try await TinyServer.start { _ in [] }
            let result = try await Wire.post(server, scheme: "https", trust: ServerTrust(caFile: path))
            guard case .failure(.helperFailed(let failure)) = result else {
                Issue.record("\(path): \(result)")
                continue
            }
            #expect(failure.message.contains(path))
            #expect(server.connections == 0)
        }
    }

    @Test(.holds("83")) func `pins are not satisfied by a connection without TLS`() async throws {
        let server = try await TinyServer.start { _ in [.send(Wire.ok)] }
        let result = try await Wire.post(server, trust: ServerTrust(pins: [Certificates.goodPin]))
        #expect(result == .failure(.insecure("the server's key matches no pin")))
        #expect(server.bytesReceived == 0)
    }

    @Test(.holds("73")) func `a server that never answers the TLS handshake is unreachable in time`()
        async throws
    {
        let server = try await TinyServer.start { _ in [] }
        let result = try await Wire.post(server, scheme: "https", connectLimit: .milliseconds(300))
        #expect(result == .failure(.unreachable("connection timed out")))
        // The kernel connects, but a busy server may accept only after the client has gone.
        #expect(server.connections <= 1)
    }

    @Test func `a server that ends the TLS handshake is unreachable`() async throws {
        let server = try await TinyServer.start(closesAtOnce: true) { _ in [] }
        let result = try await Wire.post(server, scheme: "https")
        guard case .failure(.unreachable) = result else {
            Issue.record("\(result)")
            return
        }
    }
}
