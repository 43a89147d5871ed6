// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Remedies for addresses where a proxy cannot listen, and for servers that it cannot reach.
    @Suite(.full) struct ListeningRemedyTests {
        private static let proxy = "tokenctl proxy work --upstream ISSUER --listen"

        private static let ofPaths = [
            CorrectedLine(
                line: "mkdir open mine; chmod 777 open; \(proxy) $PWD/open/p.sock -- true",
                remedy: "Set: a listen path in an existing directory that only you can write to",
                followed: "\(proxy) $PWD/mine/p.sock -- true"
            ),
            CorrectedLine(
                line: "\(proxy) $PWD/none/p.sock -- true",
                remedy: "Set: a listen path in an existing directory that only you can write to",
                followed: "\(proxy) $PWD/mine/p.sock -- true"
            ),
            CorrectedLine(
                line: "touch file; \(proxy) $PWD/file/p.sock -- true",
                remedy: "Set: a listen path in an existing directory that only you can write to",
                followed: "\(proxy) $PWD/mine/p.sock -- true"
            ),
            CorrectedLine(
                line: "\(proxy) $PWD/file -- true",
                remedy: "Set: another listen path",
                followed: "\(proxy) $PWD/mine/p.sock -- true"
            ),
            CorrectedLine(
                line: "\(proxy) $PWD/run/tokenagent/agent.sock -- true",
                remedy: "Set: another listen path",
                followed: "\(proxy) $PWD/mine/p.sock -- true"
            ),
            CorrectedLine(
                line: "\(proxy) ADDRESS -- true",
                remedy: "Set: another listen port",
                followed: "\(proxy) 127.0.0.1:0 -- true"
            ),
        ]

        @Test func `a proxy listens where it is said`() async throws {
            let scene = try await Scene.loggedIn()
            let address = scene.issuer.issuer.dropFirst("http://".count)
            try await scene.follow(Self.ofPaths, ["ADDRESS": String(address)])
        }

        /// Runs `COMMAND` in a network of its own, without the right to use the ports of the system.
        private static let apart =
            "unshare -n sh -c 'ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; "
            + "exec setpriv --bounding-set=-net_bind_service COMMAND'"

        private static let ofNetworks = [
            CorrectedLine(
                line: apart.replacing("COMMAND", with: "\(proxy) 127.0.0.1:80 -- true"),
                remedy: "Set: a listen port above 1023",
                followed: apart.replacing("COMMAND", with: "\(proxy) 127.0.0.1:8080 -- true")
            ),
            CorrectedLine(
                line: apart.replacing("COMMAND", with: "\(proxy) [::1]:8080 -- true"),
                remedy: "Set: a listen address of this machine",
                followed: apart.replacing("COMMAND", with: "\(proxy) 127.0.0.1:8080 -- true")
            ),
        ]

        @Test(.enabled(if: NetworkScene.isAvailable && TestUser.isRoot, "only root can take a right away"))
        func `a proxy listens at an address that it may have`() async throws {
            try await Scene.loggedIn().follow(Self.ofNetworks)
        }

        @Test(.enabled(if: TestUser.isRoot, "only root can run a program as another user"))
        func `a port of another user is given up as it is said`() async throws {
            let listener = """
                import socket, signal
                held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
                print(*[s.getsockname()[1] for s in held], flush=True); signal.pause()
                """
            let program = try Program(
                OtherUser.wrapper + ["python3", "-c", listener],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            let ports = try await program.outputLine(containing: "").split(separator: " ")
            try #require(ports.count == 2)
            let scene = try await Scene.loggedIn(
                more: """
                    [[proxy]]
                    name = "api"
                    listen = "127.0.0.1:\(ports[0])"
                    upstream = "http://127.0.0.1:9"
                    session = "work"

                    [[endpoint]]
                    name = "cloud"
                    kind = "azure-msi"
                    listen = "127.0.0.1:\(ports[1])"
                    session = "work"
                    audiences = ["https://vault.example"]

                    """
            )
            let other = "s/:PORT\"/:0\"/"
            try await scene.follow([
                CorrectedLine(
                    line: "tokenctl doctor",
                    remedy: "Set: listen in [[proxy]] api",
                    followed:
                        "sed -i '\(other.replacing("PORT", with: ports[0]))' config/tokenagent/config.toml; tokenctl doctor; true"
                ),
                CorrectedLine(
                    line: "tokenctl doctor",
                    remedy: "Set: listen in [[endpoint]] cloud",
                    followed:
                        "sed -i '\(other.replacing("PORT", with: ports[1]))' config/tokenagent/config.toml; tokenctl doctor; true"
                ),
            ])
        }

        @Test func `a certificate is trusted by the file that is named`() async throws {
            let authority = try CertificateAuthority()
            let identity = try authority.issue()
            let server = try MCPDouble()
            let front = try await ConnectProxy.start(before: server.port) { try identity.secure($0) }
            let address = "https://127.0.0.1:\(front.port)"
            let scene = try await Scene.loggedIn(session: "resources = [\"\(address)/mcp\"]")
            try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            try scene.agent.home.write(BridgeScene.conversation, to: "said")
            let through = "tokenctl proxy work --upstream \(address)"
            let fetched = "-- sh -c 'curl -s -d {} $TOKENAGENT_PROXY_URL/mcp | grep -o \"(set.*)\"'"
            let bridge = "mcp connect"
            try await scene.follow([
                CorrectedLine(
                    line: "\(through) \(fetched)",
                    remedy: "Set: ca_file",
                    followed: "\(through) --ca-file ca.pem \(fetched)",
                    then: 1
                ),
                CorrectedLine(
                    line: "tokenctl \(bridge) \(address)/mcp <said | grep -o '(set: [^)]*)'",
                    remedy: "Set: --ca-file",
                    followed: "tokenctl \(bridge) --ca-file ca.pem \(address)/mcp <said | grep hello"
                ),
            ])
            await front.stop()
        }
    }
}
