// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// Which server a certificate proves to be there.
@Suite(.timeLimit(.minutes(5)))
struct BridgedServerIdentityTests {
    @Test(
        .holds("82"),
        arguments: [
            ("localhost", ["127.0.0.1"], false), ("localhost", ["localhost"], true),
            ("127.0.0.1", ["127.0.0.1"], true),
        ]
    )
    func `a certificate for the address that a name leads to gets no request`(
        host: String,
        names: [String],
        isReached: Bool
    ) async throws {
        let authority = try CertificateAuthority()
        let home = try TemporaryDirectory()
        var options = DemoIssuer.Options()
        options.tls = try authority.issue(for: names)
        // Not a server of the protocol, but it notes what it is asked.
        let server = try await DemoIssuer.start(options)
        let run = try BridgeRun(
            to: "https://\(host):\(server.port)/mcp",
            authorities: try home.write(authority.certificatePEM, to: "ca.pem")
        )
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        let complaint = try await run.complaint(1)
        let isForeign = complaint.contains("the certificate is for another host name")
        #expect(isForeign == !isReached, "\(complaint)")
        #expect(server.requests(to: "/mcp").isEmpty != isReached)
        #expect(try await run.finish())
    }
}
