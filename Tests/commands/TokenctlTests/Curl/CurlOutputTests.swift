// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// The result of `tokenctl curl` if the output cannot be written.
@Suite struct CurlOutputTests {
    private func server() async throws -> (issuer: DemoIssuer, url: String) {
        let issuer = try await DemoIssuer.start()
        issuer.add(Route(nil, "/api") { _ in IssuerResponse(body: Array("hello".utf8)) })
        return (issuer, issuer.issuer + "/api")
    }

    /// Options and redirections, and the start of the error message.
    ///
    /// The token is rejected `refusals` times before.
    @Test(
        .holds("126"),
        arguments: [
            (">/dev/full", "cannot write to standard output: "), (">&-", "cannot write to standard output: "),
            ("-D - -o body >/dev/full", "cannot write to standard output: "),
            ("-D /dev/full", "cannot write to /dev/full: "),
        ],
        [0, 1]
    )
    func `a full disk and a closed standard output are failures`(
        row: (options: String, complaint: String),
        refusals: Int
    ) async throws {
        let (issuer, url) = try await server()
        issuer.queue(IssuerResponse(status: 401, body: Array("no".utf8)), for: "/api", times: refusals)
        let agent = try KeyBoundAgent(type: "Bearer")
        let directory = try TemporaryDirectory()
        let result = try await agent.shell("curl -s \(url) \(row.options)", in: directory.path)
        #expect(result.status == 23, "\(result)")
        #expect(result.standardError.hasPrefix("tokenctl: \(row.complaint)"), "\(result)")
        #expect(result.standardError.split(separator: "\n").count == 1, "\(result)")
        #expect(issuer.requests(to: "/api").count == 1 + refusals)
    }

    @Test func `a reader that has gone is a failure without a line`() async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.shell("exec 3> >(exit); wait $!; curl -s \(url) >&3")
        #expect(result.all == (23, "", ""))
        #expect(issuer.requests(to: "/api").count == 1)
    }

    @Test func `the status of another failure of curl stays`() async throws {
        let (issuer, url) = try await server()
        issuer.queue(IssuerResponse(status: 404, body: Array("no".utf8)), for: "/api")
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.shell("curl -s --fail-with-body \(url) >/dev/full")
        #expect(result.status == 22, "\(result)")
        #expect(result.standardError.hasPrefix("tokenctl: cannot write to standard output: "), "\(result)")
    }
}
