// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// The destination of response heads that the user requests from `tokenctl curl`.
@Suite struct CurlHeadTests {
    /// Starts a server, and returns curl's own output for its response, with the head first.
    private func server() async throws -> (issuer: DemoIssuer, url: String, output: String) {
        let issuer = try await DemoIssuer.start()
        issuer.add(Route(nil, "/api") { _ in IssuerResponse(body: Array("hello".utf8)) })
        let url = issuer.issuer + "/api"
        let plain = try await Program.run(
            ["/usr/bin/env", "curl", "-s", "-D", "-", url],
            environment: ["PATH": TestEnvironment.searchPath]
        )
        try #require(
            plain.standardOutput.hasPrefix("HTTP/1.1 200") && plain.standardOutput.hasSuffix("hello")
        )
        return (issuer, url, plain.standardOutput)
    }

    /// The number of times the token is rejected at first.
    @Test(arguments: [0, 1])
    func `they are written once, before the body`(refusals: Int) async throws {
        let (issuer, url, output) = try await server()
        issuer.queue(IssuerResponse(status: 401), for: "/api", times: refusals)
        let result = try await KeyBoundAgent(type: "Bearer").curl(["-s", "-D", "-", url])
        #expect(result.all == (0, output, ""))
    }

    @Test(arguments: [0, 1])
    func `a file has them once`(refusals: Int) async throws {
        let (issuer, url, output) = try await server()
        issuer.queue(IssuerResponse(status: 401), for: "/api", times: refusals)
        let directory = try TemporaryDirectory()
        let file = directory.path("heads")
        let result = try await KeyBoundAgent(type: "Bearer").curl(["-s", "-D", file, url])
        #expect(result.all == (0, "hello", ""))
        #expect(File.text(file).map { $0 + "hello" } == output)
    }

    /// Options with which standard output must be the same as that of plain curl.
    @Test(arguments: [
        ["-D", "-"], ["-sD-"], ["-D-", "-N"], ["--dump-header", "-", "-f"], ["-D", "-", "-o", "-"],
    ])
    func `those of several answers stand before their bodies`(options: [String]) async throws {
        let server = try StreamingServer { request, peer in
            peer.answer(request.token == "UNPROVEN" ? 401 : 200, "body of \(request.target)\n")
        }
        let arguments = ["-s"] + options + (1...9).map { "http://127.0.0.1:\(server.port)/\($0)" }
        let plain = try await Program.run(
            ["/usr/bin/env", "curl"] + arguments,
            environment: ["PATH": TestEnvironment.searchPath]
        )
        #expect(plain.standardOutput.split(separator: "HTTP/").count == 9)
        let result = try await KeyBoundAgent(type: "Bearer").curl(arguments)
        #expect(result.all == (0, plain.standardOutput, plain.standardError))
        #expect(server.requests.count == 27)
    }

    /// Options with which curl writes each line of the head twice, and whether a redirect comes first.
    @Test(
        arguments: [
            ["-i", "-D", "-"], ["-siD-"], ["-D", "-", "--include", "-N"], ["-I", "-D", "-"],
            ["-iLD", "-", "-o", "-"], ["-i", "--no-include", "-D", "-"],
        ],
        [1, 3]
    )
    func `those that two options want there stand there twice, line by line`(
        options: [String],
        count: Int
    ) async throws {
        let server = try StreamingServer { request, peer in
            guard request.token == "UNPROVEN" else {
                return request.target.hasPrefix("/there")
                    ? peer.answer(200, "body of \(request.target)\n")
                    : peer.answer(302, "elsewhere\n", fields: ["Location: /there\(request.target)"])
            }
            peer.answer(401)
        }
        let arguments = ["-s"] + options + (1...count).map { "http://127.0.0.1:\(server.port)/\($0)" }
        let plain = try await Program.run(
            ["/usr/bin/env", "curl"] + arguments,
            environment: ["PATH": TestEnvironment.searchPath]
        )
        let result = try await KeyBoundAgent(type: "Bearer").curl(arguments)
        #expect(result.all == (0, plain.standardOutput, plain.standardError))
    }

    @Test func `those of a server that ends lines without CR stand there twice too`() async throws {
        let server = try StreamingServer { request, peer in
            let status = request.token == "UNPROVEN" ? "401 No" : "200 OK"
            peer.send("HTTP/1.1 \(status)\nContent-Length: 6\nX-A: b\n\nhello\n".utf8)
        }
        let arguments = ["-s", "-i", "-D", "-"] + (1...3).map { "http://127.0.0.1:\(server.port)/\($0)" }
        let plain = try await Program.run(
            ["/usr/bin/env", "curl"] + arguments,
            environment: ["PATH": TestEnvironment.searchPath]
        )
        try #require(plain.standardOutput.hasPrefix("HTTP/1.1 200 OK\nHTTP/1.1 200 OK\n"))
        let result = try await KeyBoundAgent(type: "Bearer").curl(arguments)
        #expect(result.all == (0, plain.standardOutput, plain.standardError))
    }

    @Test func `twice for some of several requests is refused`() async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl([
            "-i", "-D", "-", "https://h/1", "--next", "-D", "-", "https://h/2",
        ])
        #expect(result.status == 2 && result.standardError.contains("-i and -D -"), "\(result)")
        #expect(agent.requests.isEmpty)
    }

    @Test func `those of one request stand on standard output, and not those of the next one`() async throws {
        let (issuer, url, output) = try await server()
        let result = try await KeyBoundAgent(type: "Bearer").curl(
            ["-s", "-D", "-", url, "--next", "-s", url]
        )
        #expect(result.all == (0, output + "hello", ""))
        #expect(issuer.requests(to: "/api").count == 3)
    }

    @Test func `those of a refusal that is believed are written once`() async throws {
        let (issuer, url, _) = try await server()
        issuer.queue(IssuerResponse(status: 401, body: Array("no".utf8)), for: "/api", times: 2)
        let result = try await KeyBoundAgent(type: "Bearer").curl(["-s", "-D", "-", url])
        #expect(result.status == 0 && result.standardOutput.hasPrefix("HTTP/1.1 401"), "\(result)")
        #expect(result.standardOutput.hasSuffix("\r\n\r\nno"), "\(result)")
        #expect(result.standardOutput.split(separator: "HTTP/").count == 1, "\(result)")
    }

    /// The options of two requests, and the files in the error message, or `nil` if there is no error.
    @Test(arguments: [
        (["-D", "a"], ["-D", "b"], "a and b"), (["-Da"], ["--dump-header", "-"], "a and -"),
        (["-D", "/dev/full", "-D", "/dev/null"], [], nil), (["-D", "/dev/null"], ["-D/dev/null"], nil),
    ])
    func `those of several requests go to one file`(
        row: (first: [String], second: [String], files: String?)
    ) async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(
            row.first + ["https://h/1", "--next"] + row.second + ["https://h/2"],
            path: telltale.path
        )
        guard let files = row.files else { return #expect(result.status == 0, "\(result)") }
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(result.standardError.contains("for all requests, not \(files)\n  Retry: "), "\(result)")
        #expect(agent.requests.isEmpty)
    }
}
