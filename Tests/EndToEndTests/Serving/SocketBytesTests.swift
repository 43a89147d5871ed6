// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The bytes that the agent sends to its peers.
    @Suite struct SocketBytesTests {
        /// A relay between its own socket and the agent's, which records what the agent sends.
        private static let relay = """
            import socket, sys, threading
            listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); listener.listen(64)
            lock = threading.Lock(); said = open(sys.argv[3], "ab", 0)
            def pass_on(a, b, keep):
                while True:
                    try: data = a.recv(65536)
                    except OSError: data = b""
                    if keep and data:
                        with lock: said.write(data)
                    try:
                        if not data: b.shutdown(socket.SHUT_WR); return
                        b.sendall(data)
                    except OSError: return
            print("ready", flush=True)
            while True:
                peer, _ = listener.accept()
                agent = socket.socket(socket.AF_UNIX); agent.connect(sys.argv[2])
                threading.Thread(target=pass_on, args=(peer, agent, False), daemon=True).start()
                threading.Thread(target=pass_on, args=(agent, peer, True), daemon=True).start()
            """

        @Test(.holds("22")) func `no secret but the access token crosses the socket, whatever is asked`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let (path, said) = (scene.agent.home.path("run/relay.sock"), scene.agent.home.path("said"))
            let relay = try Program(
                ["python3", "-c", Self.relay, path, scene.agent.socketPath, said],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            _ = try await relay.outputLine(containing: "ready")
            func run(_ arguments: String..., input: String = "") async throws -> ProgramResult {
                try await scene.agent.tokenctl(arguments + ["--socket", path], input: input)
            }
            var secrets = ["alice-password"]
            let login = ["--flow", "password", "--username", "alice", "--password-stdin"]
            let logIn = try await scene.agent.tokenctl(
                ["login", "work"] + login + ["--socket", path],
                input: "alice-password\n"
            )
            try #require(logIn.status == 0, "\(logIn)")
            secrets += scene.issuer.livingRefreshTokens
            let watch = try scene.agent.startTokenctl(["watch", "--socket", path])
            for _ in 0..<3 {
                #expect(try await run("refresh", "work").status == 0)
                secrets += scene.issuer.livingRefreshTokens
            }
            try await askEverything(scene, path)
            scene.issuer.queue(.failure("invalid_grant", status: 400))
            _ = try await run("refresh", "work")
            _ = try await run("logout", "work")
            _ = try await run("lock")
            _ = try await run("unlock")
            watch.signal(.interrupt)
            try await watch.finish()
            relay.signal(.kill)
            let bytes = try #require(File.text(said))
            #expect(bytes.utf8.count > 10_000)
            #expect(bytes.contains("access_token"))
            #expect(secrets.count >= 4)
            for secret in secrets { #expect(!bytes.contains(secret)) }
            Attachment.record(
                "0 hits of \(secrets.count) secrets in \(bytes.utf8.count) bytes",
                named: "figure"
            )
            #expect(!bytes.contains("refresh_token\""))
        }

        /// Sends every request that changes nothing.
        private func askEverything(_ scene: Scene, _ path: String) async throws {
            for format in ["token", "json", "header", "env", "curl"] {
                #expect(
                    try await scene.agent.tokenctl("get", "work", "--format", format, "--socket", path).status
                        == 0
                )
            }
            for command in [
                ["get", "work", "--id-token"], ["get", "work", "--scope", "api"], ["status"],
                ["status", "work"],
                ["list", "--json"], ["claims", "work"], ["doctor", "--json"], ["audit"], ["vault", "slots"],
                ["get", "nobody"],
            ] {
                _ = try await scene.agent.tokenctl(command + ["--socket", path])
            }
            for route in ["/v1", "/v1/metrics", "/v1/vault", "/v1/sessions/work", "/v1/audit", "/nonsense"] {
                _ = try await ConnectedAgentSocket(path: path).request("GET", route)
            }
        }
    }
}
