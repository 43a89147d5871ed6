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
