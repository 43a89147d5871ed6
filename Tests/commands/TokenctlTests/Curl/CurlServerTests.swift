// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@Suite struct `The one server that tokenctl curl sends the token to` {
    /// Arguments, and what the complaint says.
    private static let refusals = [
        ("--location-trusted https://h/", "it sends the token to the server of each redirect"),
        ("--location-t https://h/", "unknown curl option"), ("-sL --loc https://h/", "unknown curl option"),
        ("-K file https://h/", "tokenctl cannot check the options in the file"),
        ("-Kfile https://h/", "the options in the file"), ("-sK - https://h/", "the options in the file"),
        ("--config file https://h/", "the options in the file"),
        ("--conf file https://h/", "unknown curl option"),
        ("-u me:secret https://h/", "it would replace the session's token"),
        ("--oauth2-bearer x https://h/", "replace the session's token"),
        ("-H Authorization:x https://h/", "cannot set authorization: it contains the session's token"),
        ("-sHauthorization; https://h/", "cannot set authorization"),
        ("--header DPoP:x https://h/", "cannot set dpop"),
        ("--libcurl - https://h/", "it writes the token to a file"),
        ("--metalink https://h/", "the servers in the file"),
        ("--frob https://h/", "unknown curl option --frob"),
        ("-s@ https://h/", "unknown curl option -@"), ("-s: https://h/ https://e/", "unknown curl option -:"),
        ("--expand-url {{x}} https://h/", "unknown curl option"),
        ("--variable x=y https://h/", "its variables"),
        ("--url=https://e/ https://h/", "unknown curl option"),
        ("-- https://h/ --url", "the server of --url: not a"),
        ("-s", "no URL in curl's arguments"), ("--help", "it requires no token"),
        ("-V", "it requires no token"),
        ("h/a", "the server of h/a: not a complete URL"), ("ftp://h/a", "not a complete URL"),
        ("--url @urls", "the server of @urls: not"), ("- https://h/", "the server of -: not"),
        (#"https://e\@h/"#, "not a complete URL"), ("https://{h,e}/", "not a complete URL"),
        ("https://[1-9:2].h/", "not a complete URL"), ("https://h%2Ee/", "not a complete URL"),
        (
            "https://h/ https://e/",
            "two servers: https://h and https://e\n  Retry: with one tokenctl curl for each server\n"
        ),
        ("https://h/ --url https://h:444/", "two servers: https://h and https://h:444"),
        ("https://h/ -: -L https://e/", "two servers: https://h and https://e"),
        ("https://h/ --next https://e/", "two servers: https://h and https://e"),
        ("https://h/ http://h/", "two servers: https://h and http://h"),
        ("-- https://h/ https://e/", "two servers: https://h"),
        ("http://h/", "the token over plain http to h\n  Set: https in the URL\n"),
        ("http://127.0.0.1.e/", "the token over plain http to "),
        ("http://0x7f.0.0.1/", "the token over plain http to "),
        ("-k https://h/", "refusing curl's option -k: https://h would not be verified"),
        ("-sSk https://h/", "refusing curl's option -k"),
        ("--insecure https://h/", "refusing curl's option --insecure"),
        (
            "-x http://e:3128 http://127.0.0.1/",
            "-x requires https: without it, the token could leave http://127.0.0.1"
        ),
        ("--proxy e http://localhost/", "--proxy requires https"),
        ("--socks5 e http://127.0.0.1/", "--socks5 requires https"),
        ("--resolve localhost:80:192.0.2.1 http://localhost/", "--resolve requires https"),
        ("--connect-to ::e:80 http://127.0.0.1/", "--connect-to requires https"),
        ("--doh-url https://e http://localhost/", "--doh-url requires https"),
        ("--unix-socket /s http://localhost/", "--unix-socket requires https"),
    ]

    @Test(.holds("160"), arguments: refusals)
    func `is known, or nothing is asked and nothing runs`(words: String, complaint: String) async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(words.split(separator: " ").map(String.init), path: telltale.path)
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(result.standardError.contains(complaint), "\(result.standardError)")
        #expect(result.standardError.split(separator: "\n").count <= 2)
        #expect(agent.requests.isEmpty)
    }

    @Test(arguments: [
        "-x http://p:3128 https://h/", "--resolve h:443:192.0.2.1 https://h/",
        "--connect-to ::e:443 https://h/",
        "-k https://127.0.0.1/", "--unix-socket /s https://h/", "-sSfLo /dev/null https://h/",
        "--no-location https://h/",
        "-p https://h/", "https://h:443/a https://H/b", "https://user@h/", "--noproxy h https://h/",
    ])
    func `may be reached in many ways if TLS proves that it is that one`(words: String) async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(words.split(separator: " ").map(String.init), path: telltale.path)
        #expect(result.all == (0, "ran\n", ""))
    }

    @Test(
        .holds("160"),
        arguments: [
            ("https://api.example.com/x", true), ("https://api.example.com:443/", true),
            ("https://a.wild.example/", true),
            ("https://api.example.com:8443/", false), ("https://evil.org/", false),
            ("https://api.example.com.evil.org/", false),
            ("https://evil.org#api.example.com", false), ("https://api.example.com@evil.org/", false),
        ]
    )
    func `is among the hosts of the session`(url: String, isNamed: Bool) async throws {
        let agent = try KeyBoundAgent(type: "Bearer", hosts: ["api.example.com:443", "*.wild.example"])
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl([url], path: telltale.path)
        #expect(result.status == (isNamed ? 0 : 8))
        #expect(result.standardOutput == (isNamed ? "ran\n" : ""))
        #expect(result.standardError.contains("hosts does not include https://") == !isNamed)
        #expect(agent.requests.contains("GET /v1/sessions/work/token?reports=true") == isNamed)
    }

    @Test func `is named by the session, which is asked once`() async throws {
        let agent = try KeyBoundAgent(type: "Bearer", hosts: ["h"], base: "https://h/v1/")
        let curl = try SubstituteCurl("sed -n 's/^url = //p' \"$4\"")
        let result = try await agent.curl(["/x"], options: ["--base", "base"], path: curl.path)
        #expect(result.status == 0, "\(result)")
        #expect(agent.requests == ["GET /v1/sessions/work", "GET /v1/sessions/work/token?reports=true"])
    }

    @Test(.holds("161")) func `is the only one whose answer counts against the token`() async throws {
        let (first, other) = (try await DemoIssuer.start(), try await DemoIssuer.start())
        other.add(Route(nil, "/there") { _ in IssuerResponse(status: 401, body: Array("no".utf8)) })
        first.add(Route(nil, "/away") { _ in .redirect(to: other.issuer + "/there") })
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s", "-L", first.issuer + "/away"])
        #expect(result.all == (0, "no", ""))
        #expect(other.requests(to: "/there").map { $0.header("Authorization") } == [nil])
        #expect(agent.reports.isEmpty)
    }

    @Test(arguments: ["/there", "there", "?x", "SELF/there", "./there"])
    func `is still that one after a redirect of its own`(location: String) async throws {
        let issuer = try await DemoIssuer.start()
        issuer.add(Route(nil, "/there") { _ in IssuerResponse(status: 401) })
        let place = location.replacing("SELF", with: issuer.issuer)
        issuer.add(
            Route(nil, "/here") { $0.query["x"] == nil ? .redirect(to: place) : IssuerResponse(status: 401) }
        )
        let agent = try KeyBoundAgent(action: "none", type: "Bearer")
        _ = try await agent.curl(["-s", "-L", issuer.issuer + "/here"])
        #expect(agent.reports.count == 1)
    }

    @Test(
        .holds("161"),
        arguments: ["//127.0.0.1:1/x", #"\\e/x"#, #"/\e/x"#, "http:/x", "ftp://e/", "HTTP://e/", ""]
    )
    func `is none any more once a redirect may have led away`(location: String) async throws {
        let curl = try SubstituteCurl(
            """
            heads=$(sed -n 's/^dump-header = "\\(.*\\)"$/\\1/p' "$4")
            printf 'HTTP/1.1 302 Found\\r\\nLocation: %s\\r\\n\\r\\n' '\(location)' >"$heads"
            printf 'HTTP/1.1 401 Unauthorized\\r\\n\\r\\n' >"$heads"
            """
        )
        let agent = try KeyBoundAgent(type: "Bearer")
        #expect(try await agent.curl(["https://h/"], path: curl.path).all == (0, "", ""))
        #expect(agent.reports.isEmpty)
    }

    @Test(.holds("161")) func `is not the proxy that refuses a connection`() async throws {
        let curl = try SubstituteCurl(
            """
            heads=$(sed -n 's/^dump-header = "\\(.*\\)"$/\\1/p' "$4")
            printf 'HTTP/1.1 403 Forbidden\\r\\n\\r\\n' >"$heads"
            exit 56
            """
        )
        let agent = try KeyBoundAgent(type: "Bearer")
        #expect(try await agent.curl(["https://h/"], path: curl.path).status == 56)
        #expect(agent.reports.isEmpty)
    }

    @Test(.holds("160")) func `is not the proxy of the environment, which would read the token`() async throws
    {
        let (issuer, proxy) = (try await DemoIssuer.start(), try await DemoIssuer.start())
        issuer.add(Route(nil, "/api") { _ in IssuerResponse(body: Array("hello".utf8)) })
        let agent = try KeyBoundAgent(type: "Bearer")
        for variable in ["http_proxy", "ALL_PROXY"] {
            let result = try await agent.curl(
                ["-s", issuer.issuer + "/api", "--noproxy", ""],
                environment: [variable: proxy.issuer]
            )
            #expect(result.all == (0, "hello", ""))
        }
        #expect(proxy.requests().isEmpty)
        #expect(issuer.requests(to: "/api").count == 2)
    }

    @Test(.holds("160")) func `is not changed by a file of options in the person's home`() async throws {
        let (first, other) = (try await DemoIssuer.start(), try await DemoIssuer.start())
        let home = try TemporaryDirectory()
        try home.write("location-trusted\nurl = \(other.issuer)/there\n", to: ".curlrc")
        first.add(Route(nil, "/away") { _ in .redirect(to: other.issuer + "/there") })
        let agent = try KeyBoundAgent(type: "Bearer")
        _ = try await agent.curl(["-s", "-L", first.issuer + "/away"], environment: ["HOME": home.path])
        #expect(other.requests().map { $0.header("Authorization") } == [nil])
        #expect(first.requests(to: "/away").map(\.bearerToken) == ["UNPROVEN"])
    }
}
