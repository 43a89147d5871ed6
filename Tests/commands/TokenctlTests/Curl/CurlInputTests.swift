// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// Retries of `tokenctl curl` after a rejection if curl reads input other than files.
@Suite struct CurlInputTests {
    private static let body = "0123456789"

    /// Starts a server that rejects the first request with `no` and responds to all others with `hello`.
    private func server() async throws -> (issuer: DemoIssuer, url: String) {
        let issuer = try await DemoIssuer.start()
        issuer.add(Route(nil, "/api") { _ in IssuerResponse(body: Array("hello".utf8)) })
        issuer.queue(IssuerResponse(status: 401, body: Array("no".utf8)), for: "/api")
        return (issuer, issuer.issuer + "/api")
    }

    private func bodies(_ issuer: DemoIssuer) -> [String] {
        issuer.requests(to: "/api").map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(arguments: [
        "-d @-", "-d @/dev/stdin", "-d@/dev/fd/0", "--data-binary @/proc/self/fd/0",
        "--data-urlencode name@/dev/stdin", "--json @/dev/stdin", "-T /dev/stdin",
        "-F 'a=@/dev/stdin;type=text/plain'", #"-F 'a=<"/dev/stdin";headers="X: y"'"#,
    ])
    func `standard input is sent again under any of its names`(options: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.shell("printf \(Self.body) | curl -s \(url) \(options)")
        #expect(result.all == (0, "hello", ""))
        let bodies = bodies(issuer)
        #expect(bodies.count == 2 && bodies.allSatisfy { $0.contains(Self.body) }, "\(bodies)")
    }

    @Test(arguments: ["@-", "@/dev/stdin"])
    func `what curl shall print is read again`(format: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.shell("echo ' %{http_code}' | curl -s -w \(format) \(url)")
        #expect(result.all == (0, "hello 200", ""))
        #expect(issuer.requests(to: "/api").count == 2)
    }

    /// Options in which `FIFO` stands for a named pipe.
    @Test(arguments: [
        "-d @FIFO", "-d@FIFO", "--data-urlencode a@FIFO", "-F a=@FIFO", "-F 'a=<FIFO;type=text/plain'",
        #"-F 'a=@file,"FIFO"'"#, "-T FIFO", "-d @<(cat FIFO)", "-F a=@<(cat FIFO)", "-T <(cat FIFO)",
        "-d @/dev/fd/3 3< <(cat FIFO)", "-d @/dev/fd/3 < <(cat FIFO) 3<&0",
    ])
    func `a pipe is sent once, and its refusal is reported and passed on`(options: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let directory = try TemporaryDirectory()
        try directory.write("file", to: "file")
        let words = options.split(separator: "FIFO", omittingEmptySubsequences: false)
        let result = try await agent.shell(
            """
            mkfifo fifo
            printf \(Self.body) >fifo &
            curl -s \(url) \(words.joined(separator: "fifo"))
            """,
            in: directory.path
        )
        #expect(result.all == (0, "no", ""))
        let bodies = bodies(issuer)
        #expect(bodies.count == 1 && bodies.allSatisfy { $0.contains(Self.body) }, "\(bodies)")
        #expect(agent.reports.count == 1)
    }

    @Test(arguments: ["-d a=b@-", "-F a=b@-", "-b a=-", "-b /dev/null", "-b missing", "-d @file"])
    func `anything else is no reason to leave a refusal at that`(options: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let directory = try TemporaryDirectory()
        try directory.write(Self.body, to: "file")
        let result = try await agent.shell("curl -s \(url) \(options)", in: directory.path)
        #expect(result.all == (0, "hello", ""))
        #expect(issuer.requests(to: "/api").count == 2)
    }

    /// Options with which curl reads the file `output`, to which it has written the error response.
    @Test(arguments: [
        "-C - -o output", "--continue-at - -o output", "-z output -o output", "--time-cond output -o output",
        "--no-clobber -o output", "-OJ", "--etag-save etag -o output",
        "--etag-compare etag --etag-save etag -o output",
    ])
    func `a refusal is no beginning of a download`(options: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let directory = try TemporaryDirectory()
        let result = try await agent.shell("curl -s \(url) \(options)", in: directory.path)
        #expect(result.standardOutput.isEmpty && result.standardError.isEmpty, "\(result)")
        #expect(result.status == 0 && issuer.requests(to: "/api").count == 1)
        #expect(File.text(directory.path(options == "-OJ" ? "api" : "output")) == "no")
        #expect(agent.reports.count == 1)
    }

    @Test(arguments: ["-C 0 -o output", "-O", "-o output", "-z 2001-01-01 -o -"])
    func `a refusal gives way to a download`(options: String) async throws {
        let (issuer, url) = try await server()
        let agent = try KeyBoundAgent(type: "Bearer")
        let directory = try TemporaryDirectory()
        let result = try await agent.shell("curl -s \(url) \(options)", in: directory.path)
        #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
        let file = File.text(directory.path(options == "-O" ? "api" : "output"))
        #expect((file ?? result.standardOutput) == "hello")
        #expect(issuer.requests(to: "/api").count == 2)
    }
}
