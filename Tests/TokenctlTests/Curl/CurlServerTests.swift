// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@Suite struct `The one server that tokenctl curl sends the token to` {
    /// Arguments, and what the complaint says.
    private static let refusals = [
        ("--location-trusted https://h/", "it sends the token to every server that a redirect names"),
        ("--location-t https://h/", "is not known"), ("-sL --loc https://h/", "is not known"),
        ("-K file https://h/", "the options in the file are not looked at"),
        ("-Kfile https://h/", "the options in the file"), ("-sK - https://h/", "the options in the file"),
        ("--config file https://h/", "the options in the file"), ("--conf file https://h/", "is not known"),
        ("-u me:secret https://h/", "the session's token goes in its place"),
        ("--oauth2-bearer x https://h/", "the session's token goes"),
        ("-H Authorization:x https://h/", "with authorization: the session's token is sent in it"),
        ("-sHauthorization; https://h/", "with authorization"), ("--header DPoP:x https://h/", "with dpop"),
        ("--libcurl - https://h/", "it writes the token to a file"),
        ("--metalink https://h/", "the servers in the file"), ("--frob https://h/", "--frob would lead"),
        ("-s@ https://h/", "-@ would lead"), ("-s: https://h/ https://e/", "-: would lead"),
        ("--expand-url {{x}} https://h/", "is not known"), ("--variable x=y https://h/", "its variables"),
        ("--url=https://e/ https://h/", "is not known"), ("-- https://h/ --url", "--url is not the address"),
        ("-s", "name no URL"), ("--help", "that needs no token"), ("-V", "that needs no token"),
        ("h/a", "h/a is not the address of one server"), ("ftp://h/a", "is not the address of one server"),
        ("--url @urls", "@urls is not the address"), ("- https://h/", "- is not the address"),
        (#"https://e\@h/"#, "is not the address of one server"), ("https://{h,e}/", "is not the address"),
        ("https://[1-9:2].h/", "is not the address"), ("https://h%2Ee/", "is not the address"),
        ("https://h/ https://e/", "name https://h and https://e; run tokenctl curl for each"),
        ("https://h/ --url https://h:444/", "name https://h and https://h:444"),
        ("https://h/ -: -L https://e/", "name https://h and https://e"),
        ("https://h/ --next https://e/", "name https://h and https://e"),
        ("https://h/ http://h/", "name https://h and http://h"),
        ("-- https://h/ https://e/", "name https://h"),
        ("http://h/", "would show the token to everybody on the way; use https"),
        ("http://127.0.0.1.e/", "would show the token"), ("http://0x7f.0.0.1/", "would show the token"),
        ("-k https://h/", "with curl's option -k anybody could pass for https://h"),
        ("-sSk https://h/", "with curl's option -k"),
        ("--insecure https://h/", "with curl's option --insecure"),
        ("-x http://e:3128 http://127.0.0.1/", "-x would lead the token away from http://127.0.0.1"),
        ("--proxy e http://localhost/", "--proxy would lead"),
        ("--socks5 e http://127.0.0.1/", "--socks5 would"),
        ("--resolve localhost:80:192.0.2.1 http://localhost/", "--resolve would lead"),
        ("--connect-to ::e:80 http://127.0.0.1/", "--connect-to would lead"),
        ("--doh-url https://e http://localhost/", "--doh-url would lead"),
        ("--unix-socket /s http://localhost/", "--unix-socket would lead"),
    ]

    @Test(arguments: refusals)
    func `is known, or nothing is asked and nothing runs`(words: String, complaint: String) async throws {
        let agent = try KeyBoundAgent(type: "Bearer")
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl(words.split(separator: " ").map(String.init), path: telltale.path)
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(result.standardError.contains(complaint), "\(result.standardError)")
        #expect(result.standardError.split(separator: "\n").count == 1)
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

    @Test(arguments: [
        ("https://api.example.com/x", true), ("https://api.example.com:443/", true),
        ("https://a.wild.example/", true),
        ("https://api.example.com:8443/", false), ("https://evil.org/", false),
        ("https://api.example.com.evil.org/", false),
        ("https://evil.org#api.example.com", false), ("https://api.example.com@evil.org/", false),
    ])
    func `is among the hosts of the session`(url: String, isNamed: Bool) async throws {
        let agent = try KeyBoundAgent(type: "Bearer", hosts: ["api.example.com:443", "*.wild.example"])
        let telltale = try SubstituteCurl("echo ran")
        let result = try await agent.curl([url], path: telltale.path)
        #expect(result.status == (isNamed ? 0 : 8))
        #expect(result.standardOutput == (isNamed ? "ran\n" : ""))
        #expect(result.standardError.contains("its hosts do not name https://") == !isNamed)
        #expect(agent.requests.contains("GET /v1/sessions/work/token?reports=true") == isNamed)
    }

    @Test func `is the only one whose answer counts against the token`() async throws {
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

    @Test(arguments: ["//127.0.0.1:1/x", #"\\e/x"#, #"/\e/x"#, "http:/x", "ftp://e/", "HTTP://e/", ""])
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

    @Test func `is not the proxy that refuses a connection`() async throws {
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

    @Test func `is not the proxy of the environment, which would read the token`() async throws {
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

    @Test func `is not changed by a file of options in the person's home`() async throws {
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
