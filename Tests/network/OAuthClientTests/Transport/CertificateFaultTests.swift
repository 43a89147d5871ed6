// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerCertificates
import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Messages about servers that are not trusted, and the choice of trusted authorities.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CertificateFaultTests {
    private static let day = Duration.seconds(86_400)

    /// Posts to a server that shows `identity` and `others`.
    private func post(
        _ identity: TLSIdentity,
        with others: [CertificateAuthority] = [],
        trusting authorities: String?
    ) async throws -> Result<ServerResponse, TransportFailure> {
        let file = try authorities.map { try TemporaryFile($0) }
        let server = try await TinyServer.start(
            certificate: ([identity.certificatePEM] + others.map(\.certificatePEM)).joined(separator: "\n"),
            key: identity.privateKeyPEM
        ) { _ in [.send(Wire.ok)] }
        let result = try await Wire.post(server, scheme: "https", trust: ServerTrust(caFile: file?.path))
        if case .failure = result { #expect(server.bytesReceived == 0) }
        return result
    }

    private func message(_ result: Result<ServerResponse, TransportFailure>) throws -> RefreshFailure {
        guard case .failure(let failure) = result else {
            Issue.record("\(result)")
            return RefreshFailure(kind: .misbehaved, message: "")
        }
        return failure.refreshFailure(at: try EndpointURL("https://id.example/token"))
    }

    @Test(.holds("83"))
    func `an expired certificate, one from the future, and one for clients have sentences of their own`()
        async throws
    {
        let authority = try CertificateAuthority()
        let expired = try authority.issue(validity: (.zero - Self.day * 3)...(.zero - Self.day * 2))
        let told = try message(await post(expired, trusting: authority.certificatePEM))
        #expect(told.kind == .insecure && told.remedy == nil)
        #expect(told.message.contains("the server's certificate expired on 20"), "\(told.message)")
        let future = try message(
            await post(
                try authority.issue(validity: Self.day...(Self.day * 2)),
                trusting: authority.certificatePEM
            )
        )
        #expect(future.message.contains("is not valid before 20") && future.message.contains("clock"))
        let client = try message(
            await post(try authority.issue(isForServers: false), trusting: authority.certificatePEM)
        )
        #expect(client.message.contains("is not for servers"), "\(client.message)")
    }

    @Test(.holds("83")) func `an authority that is not known is named, and ca_file is`() async throws {
        let authority = try CertificateAuthority(name: "Corporate \u{1B}[31mCA")
        let told = try message(
            await post(try authority.issue(), trusting: try CertificateAuthority().certificatePEM)
        )
        #expect(
            told.message.contains("is signed by an unknown CA: \"Corporate [31mCA\"")
        )
        #expect(told.remedy?.text.contains("ca_file") == true)
    }

    @Test(.holds("83"))
    func `an intermediate authority alone is an anchor, whether the server shows it or not`()
        async throws
    {
        let root = try CertificateAuthority(name: "root")
        let intermediate = try root.intermediate(name: "intermediate")
        let identity = try intermediate.issue()
        for shown in [[], [intermediate], [intermediate, root]] {
            let result = try await post(identity, with: shown, trusting: intermediate.certificatePEM)
            #expect(try result.get().status == 200, "\(shown.count) shown")
        }
        // The root is still trusted, but a sibling of the intermediate is not.
        let whole = try await post(identity, with: [intermediate], trusting: root.certificatePEM)
        #expect(try whole.get().status == 200)
        let sibling = try root.intermediate(name: "sibling")
        let told = try message(await post(identity, with: [intermediate], trusting: sibling.certificatePEM))
        #expect(told.kind == .insecure)
        // The intermediate does not sign for other purposes or other hosts either.
        let wrong = try intermediate.issue(for: ["other.example"])
        #expect(try message(await post(wrong, trusting: intermediate.certificatePEM)).kind == .insecure)
        let client = try intermediate.issue(isForServers: false)
        #expect(try message(await post(client, trusting: intermediate.certificatePEM)).kind == .insecure)
    }

    @Test func `an authority that is limited to IP addresses is said to be, where names work`() async throws {
        let loopback = try CertificateAuthority.permitting(address: [127, 0, 0, 0], mask: [255, 0, 0, 0])
        let addressed = try await post(try loopback.issue(), trusting: loopback.certificatePEM)
        let told = try message(addressed)
        #expect(told.message.contains("is limited to some IP addresses"), "\(told)")
        #expect(told.kind == .insecure && told.remedy == nil)
        // An untrusted authority is reported as such.
        let unknown = try await post(
            try loopback.issue(),
            with: [loopback],
            trusting: try CertificateAuthority(name: "other").certificatePEM
        )
        #expect(try message(unknown).message.contains("signed by an unknown CA"))
    }

    // MARK: The system's authorities

    @Test(.holds("83"))
    func `a machine without certificates of authorities is told so, unless there is a ca_file`() throws {
        let none = SystemRoots(named: "/nonexistent/roots.pem")
        let credentials = try LoadedServerTrust(ServerTrust(), system: none)
        let failure = #expect(throws: TransportFailure.self) { try credentials.check() }
        // The system may be replacing its file.
        let told = try #require(failure).refreshFailure(at: try EndpointURL("https://id.example/token"))
        #expect(told.kind == .helperFailed)
        #expect(told.message == "id.example: SSL_CERT_FILE: cannot read /nonexistent/roots.pem")
        #expect(told.remedy?.text.contains("ca_file") == true)
        let file = try TemporaryFile(try CertificateAuthority().certificatePEM)
        try LoadedServerTrust(ServerTrust(caFile: file.path), system: none).check()
    }

    /// `nil`: there is no file.
    @Test(arguments: [nil, "", "-----BEGIN CERTIFICATE-----\nMIIB"])
    func `a ca_file that is being written is read again`(content: String?) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/ca.pem"
        if let content { try directory.write(content, to: "ca.pem") }
        let authority = try CertificateAuthority()
        let identity = try authority.issue()
        let server = try await TinyServer.start(
            certificate: identity.certificatePEM,
            key: identity.privateKeyPEM
        ) { _ in [.send(Wire.ok)] }
        let transport = HTTPTransport(eventLoop: Wire.eventLoop)
        let url = try EndpointURL("https://127.0.0.1:\(server.port)/token")
        let request = OutgoingRequest(url: url, trust: ServerTrust(caFile: path))
        let told = try message(await transport.outcome(of: request))
        #expect(told.kind == .helperFailed && told.message.contains("ca_file \(path): "), "\(told)")
        try directory.write(authority.certificatePEM, to: "ca.pem")
        #expect(try await transport.outcome(of: request).get().status == 200)
        await transport.shutDown()
        await server.stop()
    }

    @Test(.holds("83")) func `SSL_CERT_FILE is honored, and what is added to it counts without a restart`()
        async throws
    {
        let (first, second) = (
            try CertificateAuthority(name: "first"), try CertificateAuthority(name: "second")
        )
        let directory = try TemporaryDirectory()
        let path = try directory.write(first.certificatePEM, to: "roots.pem")
        func credentials() throws -> LoadedServerTrust {
            try LoadedServerTrust(ServerTrust(), system: SystemRoots(named: path))
        }
        let before = try credentials()
        #expect(before == (try credentials()))
        _ = try directory.write(first.certificatePEM + "\n" + second.certificatePEM, to: "roots.pem")
        let after = try credentials()
        #expect(before != after)
        for (authority, isTrusted) in [(first, true), (second, true), (try CertificateAuthority(), false)] {
            let identity = try authority.issue()
            let server = try await TinyServer.start(
                certificate: identity.certificatePEM,
                key: identity.privateKeyPEM
            ) { _ in [.send(Wire.ok)] }
            let transport = HTTPTransport(eventLoop: Wire.eventLoop, system: { SystemRoots(named: path) })
            let url = try EndpointURL("https://127.0.0.1:\(server.port)/token")
            let result = await transport.outcome(of: OutgoingRequest(url: url, trust: ServerTrust()))
            #expect(((try? result.get())?.status == 200) == isTrusted, "\(result)")
            await transport.shutDown()
            await server.stop()
        }
    }
}
