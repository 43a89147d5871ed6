// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Who may listen for which session, and what is written down of it.
    @Suite struct ProxyRuleTests {
        @Test(
            .holds("232"),
            .enabled(
                if: TestUser.isRoot,
                "only root can read which file a process runs that refuses inspection"
            )
        )
        func `a hidden session is shown to the listener that its rules name, and to no other`()
            async throws
        {
            let rules = "allow = [{ proxy = \"api\" }, { exe = \"\(BuiltPrograms.client)\" }]"
            let scene = try await ProxyScene.start(session: rules)
            #expect(try await scene.status() == "200")
            let own = try await scene.agent.tokenctl(
                [
                    "proxy", "work", "--upstream", scene.upstream.url, "--", "sh", "-c",
                    "curl -s -w '%{http_code}' $TOKENAGENT_PROXY_URL",
                ]
            )
            #expect(own.standardOutput.hasSuffix("404"), "\(own)")
            // A program that says that it is the listener is not the program that listens.
            let lie = try await scene.agent.shell(
                "curl -s -o /dev/null -w '%{http_code}' -H 'Tokenagent-Listener: api 00' --unix-socket "
                    + "'\(scene.agent.socketPath)' http://tokenagent/v1/sessions/work/token"
            )
            #expect(lie.standardOutput == "404")
        }

        @Test func `a program with an IPv6 socket reaches a listener at an IPv4 address`() async throws {
            let scene = try await ProxyScene.start()
            // As Java does for every address.
            let script = """
                import socket
                s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
                s.connect(("::ffff:127.0.0.1", \(scene.port)))
                s.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:\(scene.port)\\r\\nConnection: close\\r\\n\\r\\n")
                print(s.recv(64).decode().split()[1])
                """
            let result = try await Program.run(
                ["python3", "-c", script],
                environment: scene.agent.environment
            )
            #expect(result.standardOutput == "200\n", "\(result)")
        }

        @Test(.holds("232")) func `the audit log names the listener`() async throws {
            let scene = try await ProxyScene.start()
            #expect(try await scene.status() == "200")
            let log = try await scene.agent.tokenctl("audit", "--json").standardOutput
            #expect(log.contains("\"listener\":\"api\""), "\(log)")
            let shown = try await scene.agent.tokenctl("audit").standardOutput
            #expect(shown.contains("  through api"), "\(shown)")
        }

        @Test func `a proxy for a session that is not there fails as everything does`() async throws {
            let scene = try await Scene.loggedIn()
            let absent = try await scene.agent.tokenctl("proxy", "wrok", "--upstream", "http://127.0.0.1:1")
            #expect(absent.status == 7 && absent.standardError.contains("wrok"), "\(absent)")
            let mistaken = try await scene.agent.tokenctl("proxy", "work", "--upstream", "ftp://127.0.0.1:1")
            #expect(mistaken.status == 2 && mistaken.standardError.contains("upstream: "), "\(mistaken)")
        }

        @Test(
            .enabled(
                if: TestUser.isRoot,
                "only root can read which file a process runs that refuses inspection"
            )
        )
        func `a session that is shown to the proxy and hidden from tokenctl is served`() async throws {
            let upstream = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let text = try #require(File.text(scene.agent.configurationPath))
            let rule = "allow = [{ exe = \"\(BuiltPrograms.directory)/tokenagent-proxy\" }]"
            try scene.agent.configure(text.replacing("[session.work]", with: "[session.work]\n\(rule)"))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            #expect(try await scene.agent.tokenctl("get", "work").status == 7)
            func serve(_ session: String) async throws -> ProgramResult {
                try await scene.agent.tokenctl(
                    [
                        "proxy", session, "--upstream", upstream.url, "--", "sh", "-c",
                        "curl -s -w '%{http_code}' $TOKENAGENT_PROXY_URL",
                    ]
                )
            }
            let result = try await serve("work")
            #expect(result.standardOutput == "fine200", "\(result)")
            #expect(upstream.requests.contains { $0.contains("Bearer \(token)") })
            #expect(try await serve("wrok").status == 7)
            let bound = "[session.work]\n\(rule)\nhosts = [\"api.example.com\"]"
            try scene.agent.configure(text.replacing("[session.work]", with: bound))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let elsewhere = try await serve("work")
            #expect(elsewhere.status == 2, "\(elsewhere)")
            #expect(elsewhere.standardError.contains("are not for \(upstream.url)"), "\(elsewhere)")
        }

        @Test func `where no configuration is, a proxy of a session that the socket gives needs none`()
            async throws
        {
            let upstream = try await RawUpstream.start { _ in .bytes(ProxyScene.ok()) }
            let scene = try await Scene()
            let path = scene.agent.home.path("run/tokenagent/work.sock")
            let text = try #require(File.text(scene.agent.configurationPath))
            let socket = "\n[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n"
            try scene.agent.configure(text + socket)
            try await scene.agent.start()
            try await scene.logIn()
            let there =
                "TOKENAGENT_CONFIG= HOME=\"$HOME/none\" TOKENAGENT_AUTOSTART=0 TOKENAGENT_SOCK='\(path)'"
            let ask = "sh -c 'curl -s -w \"%{http_code}\" $TOKENAGENT_PROXY_URL'"
            func serve(_ session: String, _ url: String) async throws -> ProgramResult {
                try await scene.agent.shell("\(there) tokenctl proxy \(session) --upstream \(url) -- \(ask)")
            }
            let result = try await serve("work", upstream.url)
            #expect(result.standardOutput == "fine200", "\(result)")
            let token = try await scene.token()
            #expect(upstream.requests.contains { $0.contains("Bearer \(token)") })
            #expect(try await serve("mail", upstream.url).status == 7)
            let hosts = "[session.work]\nhosts = [\"api.example.com\"]"
            try scene.agent.configure(text.replacing("[session.work]", with: hosts) + socket)
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let foreign = try await serve("work", upstream.url)
            #expect(
                foreign.status == 2 && foreign.standardError.contains("hosts in [session.work]"),
                "\(foreign)"
            )
        }

        @Test func `a listener for a server that the tokens are not for is a mistake`() async throws {
            let scene = try await Scene()
            let text = File.text(scene.agent.configurationPath) ?? ""
            let table = """

                [[proxy]]
                name = "api"
                listen = "0.0.0.0:80"
                upstream = "http://api.example.com"
                session = "work"
                paths = ["/v1/*/x"]
                methods = ["TRACE"]
                pins = ["x"]
                """
            try scene.agent.configure(text + table)
            let result = try await scene.agent.tokenctl("config", "check")
            #expect(result.status == 2)
            for key in ["listen", "upstream", "paths", "methods", "pins"] {
                #expect(result.standardError.contains("proxy.\(key): "), "\(key): \(result.standardError)")
            }
            let hosts = text.replacing(
                "[session.work]",
                with: "[session.work]\nhosts = [\"git.example.com\"]"
            )
            let other = table.replacing("0.0.0.0:80", with: "127.0.0.1:0").replacing(
                "http://api",
                with: "https://api"
            )
            .split(separator: "\n").filter {
                !$0.hasPrefix("paths") && !$0.hasPrefix("methods") && !$0.hasPrefix("pins")
            }
            try scene.agent.configure(hosts + "\n" + other.joined(separator: "\n"))
            let foreign = try await scene.agent.tokenctl("config", "check")
            let remedy = "(set: hosts in [session.work] to include api.example.com)"
            #expect(foreign.status == 2 && foreign.standardError.contains(remedy), "\(foreign)")
        }

        @Test(.holds("232")) func `metrics and the access log tell what happened, and no token`() async throws
        {
            let scene = try await ProxyScene.start(more: "") { _ in .bytes(ProxyScene.ok()) }
            _ = try await scene.end()
            let directory = try TemporaryDirectory()
            let metrics = directory.path("metrics.sock")
            let proxy = try scene.agent.startTokenctl(["proxy", "--access-log", "--metrics", metrics])
            let url = String(try await proxy.outputLine(containing: "api ").dropFirst("api ".count))
            let token = try await scene.scene.token()
            let result = try await scene.agent.shell(
                "curl -s '\(url)/v1/x?secret=1'; curl -s -H 'Origin: http://x' '\(url)/v1/y?secret=2'; curl -s --unix-socket '\(metrics)' http://localhost/metrics"
            )
            let sum = "tokenagent_proxy_requests_total{listener=\"api\",class=\"2xx\"} 1"
            #expect(result.standardOutput.contains(sum), "\(result)")
            #expect(try await Polling.until { proxy.standardError.contains("api: GET /v1/x 200 ") })
            #expect(
                try await Polling.until {
                    proxy.standardError.contains("api: refused GET /v1/y 403 in=0 out=")
                }
            )
            #expect(!proxy.standardError.contains("secret") && !proxy.standardError.contains(token))
        }
    }
}
