// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// The agent and its proxy behind a forward proxy.
    @Suite struct ForwardProxyTests {
        /// A session at a server with TLS, `keys` for it with PORT in place of the proxy's port, and tables after it.
        private func scene(
            _ proxy: ConnectProxy,
            _ keys: String,
            agent: String = "",
            more: (Scene) -> String = { _ in "" }
        ) async throws -> Scene {
            let authority = try CertificateAuthority()
            let scene = try await Scene(
                options: { $0.tls = try authority.issue() },
                session: "ca_file = \"CA_FILE\"\n\(keys)",
                more: agent
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath)) + "\n" + more(scene)
            try scene.agent.configure(
                text.replacing("CA_FILE", with: file).replacing("PORT", with: "\(proxy.port)")
                    .replacing("HOME", with: scene.agent.home.path)
            )
            return scene
        }

        @Test(.holds("88")) func `logins, refreshes and a [[proxy]] go through the proxy of the session`()
            async throws
        {
            let proxy = try await ConnectProxy.start(credentials: "al:secret")
            let keys = """
                proxy = "http://127.0.0.1:PORT"
                proxy_credentials_file = "HOME/credentials"
                """
            let scene = try await scene(proxy, keys) { scene in
                """
                [[proxy]]
                name = "api"
                listen = "127.0.0.1:0"
                upstream = "\(scene.issuer.issuer)"
                session = "work"
                ca_file = "CA_FILE"
                """
            }
            try scene.agent.home.write("al:secret\n", to: "credentials", mode: 0o600)
            try await scene.agent.start()
            try await scene.logIn()
            let before = proxy.requests.count
            #expect(before > 0)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(proxy.requests.count == before + 1)
            // Nothing went around it, and it has seen no more than TLS.
            #expect(scene.issuer.requests().count == proxy.requests.count)
            #expect(!proxy.relayed.contains("refresh_token"))
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(
                doctor.standardOutput.contains(
                    "server \(scene.issuer.issuer): trusted, metadata matches the issuer, "
                        + "through the proxy http://127.0.0.1:\(proxy.port) (proxy)\n"
                ),
                "\(doctor)"
            )
            let count = proxy.requests.count
            let served = try scene.agent.startTokenctl(["proxy"])
            let url = String(try await served.outputLine(containing: "api ").dropFirst("api ".count))
            let fetched = try await scene.agent.shell("curl -s --max-time 60 '\(url)/userinfo'")
            #expect(fetched.standardOutput.contains("alice"), "\(fetched)")
            #expect(proxy.requests.count == count + 1)
            await proxy.stop()
        }

        /// A way to name a proxy: its scheme, the table with the keys, and the key for its credentials.
        enum Naming: CaseIterable {
            case sessionInClear
            case sessionOverTLS
            case everySession

            var isTLS: Bool { self == .sessionOverTLS }
        }

        @Test(.holds("88"), arguments: Naming.allCases)
        func `tokenctl mcp connect and tokenctl proxy go through the proxy of the configuration`(
            naming: Naming
        ) async throws {
            let authority = try CertificateAuthority()
            let identity = try authority.issue(for: ["mcp.example"])
            let own = try authority.issue()
            let server = try MCPDouble()
            let front = try await ConnectProxy.start(before: server.port) { try identity.secure($0) }
            let proxy = try await ConnectProxy.start(
                credentials: "al:secret",
                places: ["mcp.example:443": front.port]
            ) { if naming.isTLS { try own.secure($0) } }
            let keys = """
                proxy = "\(naming.isTLS ? "https" : "http")://127.0.0.1:\(proxy.port)"
                proxy_credentials_command = ["/bin/echo", "al:secret"]
                """
            let session = """
                resources = ["https://mcp.example/mcp"]
                hosts = ["mcp.example"]
                ca_file = "CA_FILE"
                """
            let scene = try await Scene(
                session: naming == .everySession ? session : "\(session)\n\(keys)",
                more: naming == .everySession ? "[agent]\n\(keys)\n" : ""
            )
            let agent = scene.agent
            let file = try agent.home.write(authority.certificatePEM, to: "ca.pem")
            let table = """
                [[proxy]]
                name = "api"
                listen = "127.0.0.1:0"
                upstream = "https://mcp.example"
                session = "work"
                ca_file = "CA_FILE"
                """
            let text = try #require(File.text(agent.configurationPath)) + "\n" + table
            try agent.configure(text.replacing("CA_FILE", with: file))
            try await agent.start()
            try await scene.logIn()
            let connect = ["mcp", "connect", "--ca-file", file, "https://mcp.example/mcp"]
            let result = try await agent.tokenctl(connect, input: BridgeScene.conversation)
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(result.standardOutput.contains(#""text":"hello""#), "\(result)")
            #expect(proxy.requests.contains { $0.hasPrefix("CONNECT mcp.example:443 ") })
            let token = try await scene.token()
            #expect(server.requests.allSatisfy { $0.token == token })
            // The issuer is reached in the clear, where the session names the proxy.
            #expect(naming != .everySession || !proxy.relayed.contains(token))
            // Both the table and a proxy without one.
            let alone = ["proxy", "work", "--upstream", "https://mcp.example", "--ca-file", file]
            for (words, name) in [(["proxy"], "api "), (alone, "work ")] {
                let count = server.requests.count { $0.body == "{}" }
                let served = try agent.startTokenctl(words)
                let url = String(try await served.outputLine(containing: name).dropFirst(name.count))
                let answer = try await agent.shell("curl -s --max-time 60 -d '{}' '\(url)/mcp'")
                #expect(server.requests.count { $0.body == "{}" } == count + 1, "\(answer)")
                served.signal(.terminate)
                _ = try await served.finish()
            }
            await proxy.stop()
            await front.stop()
        }

        @Test func `an upstream at an address proves that address, not the proxy's`() async throws {
            let authority = try CertificateAuthority()
            let proxy = try await ConnectProxy.start()
            let server = try MCPDouble()
            var answers: [String] = []
            for address in ["192.0.2.7", "127.0.0.1"] {
                let identity = try authority.issue(for: [address])
                let front = try await ConnectProxy.start(before: server.port) { try identity.secure($0) }
                let scene = try await Scene(
                    session:
                        "hosts = [\"192.0.2.7:\(front.port)\"]\nproxy = \"http://127.0.0.1:\(proxy.port)\""
                )
                try await scene.agent.start()
                try await scene.logIn()
                let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
                let served = try scene.agent.startTokenctl([
                    "proxy", "work", "--upstream", "https://192.0.2.7:\(front.port)", "--ca-file", file,
                ])
                let url = String(try await served.outputLine(containing: "work ").dropFirst("work ".count))
                answers.append(
                    try await scene.agent.shell("curl -s --max-time 60 -d '{}' '\(url)/mcp'").standardOutput
                )
                served.signal(.terminate)
                _ = try await served.finish()
                await front.stop()
            }
            #expect(!answers[0].contains("about:blank") && server.requests.count == 1, "\(answers)")
            #expect(answers[1].contains("certificate is for another host name"), "\(answers)")
            await proxy.stop()
        }

        @Test(.holds("88")) func `a program without credentials for the proxy lets nothing past it`()
            async throws
        {
            let proxy = try await ConnectProxy.start()
            let agent = try AgentUnderTest(
                configuration: """
                    [agent]
                    proxy = "http://127.0.0.1:\(proxy.port)"
                    proxy_credentials_command = ["/bin/sh", "-c", "echo the keyring is locked >&2; exit 3"]
                    """
            )
            let result = try await agent.tokenctl("mcp", "connect", "https://mcp.example/mcp")
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(
                result.standardError.contains(
                    "proxy_credentials_command: /bin/sh: exit status 3: the keyring is locked"
                ),
                "\(result)"
            )
            #expect(proxy.connections == 0)
            await proxy.stop()
        }

        @Test(.holds("88")) func `a proxy for all sessions leaves this machine alone, and doctor says so`()
            async throws
        {
            let proxy = try await ConnectProxy.start()
            let scene = try await scene(proxy, "", agent: "[agent]\nproxy = \"http://127.0.0.1:PORT\"\n")
            try await scene.agent.start(extraEnvironment: ["HTTPS_PROXY": "http://127.0.0.1:1"])
            try await scene.logIn()
            #expect(proxy.connections == 0)
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.standardOutput.contains("matches the issuer, without a proxy\n"), "\(doctor)")
            await proxy.stop()
        }

        @Test(.holds("88")) func `the environment's proxy is asked, and a failure names it`() async throws {
            let proxy = try await ConnectProxy.start()
            proxy.behave(.answerAndClose("HTTP/1.1 403 Forbidden\r\n\r\n"))
            let agent = try AgentUnderTest(
                configuration: "[session.away]\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n"
            )
            try await agent.start(extraEnvironment: ["https_proxy": "http://127.0.0.1:\(proxy.port)"])
            let doctor = try await agent.tokenctl("doctor")
            #expect(
                doctor.standardOutput.contains(
                    "id.example: the proxy http://127.0.0.1:\(proxy.port) rejected the connection (status 403)"
                ),
                "\(doctor)"
            )
            #expect(
                proxy.requests.allSatisfy { $0.hasPrefix("CONNECT id.example:443 ") }
                    && !proxy.requests.isEmpty
            )
            await proxy.stop()
        }

        @Test(.holds("88")) func `a proxy of the configuration that is none is a mistake in its line`()
            async throws
        {
            let agent = try AgentUnderTest(
                configuration: """
                    [session.a]
                    issuer = "https://id.example"
                    client_id = "cli"
                    proxy = "http://me:pw@p.example:3128"
                    [session.b]
                    issuer = "https://id.example"
                    client_id = "cli"
                    proxy = "direct"
                    proxy_credentials_file = "/x"
                    [session.c]
                    issuer = "https://id.example"
                    client_id = "cli"
                    proxy = "socks5://p.example:1080"
                    """
            )
            let check = try await agent.tokenctl("config", "check")
            #expect(check.status == 2)
            let lines = check.standardError
            #expect(
                lines.contains(":4: session.a.proxy: must not contain a user name or password"),
                "\(check)"
            )
            #expect(lines.contains(":9: session.b.proxy_credentials_file: has no effect"), "\(check)")
            #expect(lines.contains(":13: session.c.proxy: must begin with http:// or https://"), "\(check)")
            #expect(!lines.contains("pw@"))
        }
    }
}
