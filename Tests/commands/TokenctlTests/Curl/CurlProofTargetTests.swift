// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@Suite struct `The request that curl's arguments describe` {
    /// `URL` stands for the server's address and `FILE` for a file.
    @Test(arguments: [
        ("URL", "GET"), ("--url URL", "GET"), ("-- URL", "GET"), ("URL?q=1#f", "GET"),
        ("-g URL?x={1}[2-3]", "GET"),
        ("-X DELETE URL", "DELETE"), ("-XPATCH URL", "PATCH"), ("-SX PUT URL", "PUT"),
        ("URL --request PURGE", "PURGE"),
        ("-I URL", "HEAD"), ("-SI URL", "HEAD"), ("--head URL", "HEAD"), ("-qI URL", "HEAD"),
        ("-T - URL", "PUT"), ("--upload-file FILE URL", "PUT"), ("-TFILE URL", "PUT"),
        ("-T FILE URL?dir/", "PUT"),
        ("-d a URL", "POST"), ("-da URL", "POST"), ("-Sd @FILE URL", "POST"), ("--data a URL", "POST"),
        ("--data-raw a URL", "POST"), ("--data-ascii a URL", "POST"), ("--data-binary a URL", "POST"),
        ("--data-urlencode a URL", "POST"), ("-F a=b URL", "POST"), ("--form a=b URL", "POST"),
        ("--form-string a=b URL", "POST"), ("-d a -X PUT URL", "PUT"), ("-G -d a URL", "GET"),
        ("-SGd a URL", "GET"), ("--get --data a URL", "GET"), ("-X REPORT -I URL", "REPORT"),
        ("--connect-timeout 60 -m 60 -o /dev/null -A agent --max-redirs 3 URL", "GET"),
        ("-H X:http://other.example/ -e http://other.example/ URL", "GET"),
        ("-qsX PUT URL", "PUT"), ("--disable URL", "GET"), ("--retry 0 URL --proxy-header a", "GET"),
    ])
    func `is the one the server sees`(row: (words: String, method: String)) async throws {
        let issuer = try await DemoIssuer.start()
        let file = try TemporaryDirectory()
        try file.write("x", to: "file")
        let agent = try KeyBoundAgent()
        let arguments = row.words.split(separator: " ").map { word in
            word.split(separator: "URL", omittingEmptySubsequences: false).joined(
                separator: issuer.issuer + "/a/b"
            )
            .split(separator: "FILE", omittingEmptySubsequences: false).joined(separator: file.path("file"))
        }
        // Only as the first argument it keeps curl from reading its own configuration.
        let isFirst = arguments.first?.hasPrefix("-q") == true || arguments.first == "--disable"
        let result = try await agent.curl(isFirst ? arguments : ["-s"] + arguments)
        #expect(result.status == 0, "\(result)")
        let seen = issuer.requests().map { "\($0.method) \(issuer.issuer)\($0.path)" }
        #expect(seen == ["\(row.method) \(issuer.issuer)/a/b"])
        #expect(agent.proofs == seen)
    }

    @Test(arguments: [
        ("--json {} https://h/a", "POST https://h/a"), ("-X put https://h/a", "put https://h/a"),
        ("HTTPS://H/a?b=c", "GET HTTPS://H/a"), ("https://h/a --next https://h", "none"),
        ("http://[::1]:80/a", "GET http://[::1]:80/a"), ("-T x https://h/a", "PUT https://h/a"),
        ("--ipfs-gateway x https://h", "GET https://h"), ("-T - https://h/", "PUT https://h/"),
    ])
    func `is found where this curl or network may not know it`(words: String, proof: String) async throws {
        let agent = try KeyBoundAgent()
        let silent = try SubstituteCurl("")
        let result = try await agent.curl(words.split(separator: " ").map(String.init), path: silent.path)
        #expect(result.status == (proof == "none" ? 2 : 0), "\(result)")
        #expect(agent.proofs == (proof == "none" ? [] : [proof]))
    }

    @Test(arguments: [
        (
            "https://h/a https://h/b",
            "one URL in curl's arguments\n  Run: tokenctl get work --dpop-url URL --format curl\n"
        ),
        ("https://h/a --url https://h/a", "arguments\n  Run: tokenctl get work"),
        ("https://h/a --next https://h/b", "arguments\n  Run: tokenctl get work"),
        ("https://h/[1-3]", "arguments\n  Run:"), ("https://h:80/{a,b}", "arguments\n  Run:"),
        ("https://[::1]/[1-3]", "arguments\n  Run:"), ("-T {a,b} https://h/a", "arguments\n  Run:"),
        (
            "-T x https://h/a/",
            "append the file name to https://h/a/\n  Set: the URL with the file name at its end"
        ),
        ("-T x https://h", "append the file name to https://h\n  Set: the URL with the file name at its end"),
    ])
    func `is needed, and wrong usage says what to do`(words: String, complaint: String) async throws {
        let agent = try KeyBoundAgent()
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(words.split(separator: " ").map(String.init), path: telltale.path)
        #expect(result.status == 2)
        #expect(result.standardOutput.isEmpty)
        #expect(result.standardError.hasPrefix("tokenctl: work: a proof of possession requires "))
        #expect(result.standardError.contains(complaint), "\(result.standardError)")
        #expect(result.standardError.split(separator: "\n").count == 2)
        #expect(agent.proofs.isEmpty)
    }

    @Test func `does not matter to a token that is not bound`() async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(["https://h/a", "https://h/b"], path: telltale.path)
        #expect(result.all == (0, "ran\n", ""))
        #expect(agent.requests == ["GET /v1/sessions/work", "GET /v1/sessions/work/token?reports=true"])
    }
}
