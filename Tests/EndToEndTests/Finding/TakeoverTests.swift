// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// An agent that a service manager starts while another one runs.
    @Suite struct TakeoverTests {
        /// Replaces the socket, as systemd does, and becomes the agent that is handed the new one.
        private static let manager = """
            import os, socket, sys
            path = sys.argv[1]
            if os.path.exists(path): os.unlink(path)
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            s = socket.socket(socket.AF_UNIX); s.bind(path); os.chmod(path, 0o600); s.listen(128)
            os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
            os.environ["LISTEN_FDS"] = "1"; os.environ["LISTEN_PID"] = str(os.getpid())
            print("listening", file=sys.stderr, flush=True)
            os.execv(sys.argv[2], sys.argv[2:])
            """

        private func start(_ scene: Scene) throws -> Program {
            try Program(
                ["python3", "-c", Self.manager, scene.agent.socketPath, BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
        }

        @Test(.holds("17")) func `takes the place of the running one, and clients wait for it`() async throws
        {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let old = try #require(scene.agent.agent)
            let new = try start(scene)
            try #require(try await Polling.until { new.standardError.contains("listening") })
            // Nobody accepts yet at the new socket.
            let get = try await scene.agent.tokenctl("get", "work", "--timeout", "30s")
            #expect(get.status == 0 && get.line == token, "\(get) \(new.standardError)")
            #expect(try await old.finish().status == 0)
            #expect(
                new.standardError.contains("stopping process \(old.pid), which uses the store"),
                "\(new.standardError)"
            )
            #expect(scene.refreshes == 0)
            new.signal(.terminate)
            #expect(try await new.finish().status == 0)
        }

        @Test(.holds("17")) func `lets the running one finish a refresh that somebody waits for`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let old = try #require(scene.agent.agent)
            scene.issuer.queue(Disturbance(isHeld: true))
            let waiting = try scene.agent.startTokenctl(["refresh", "work"])
            try #require(try await scene.agent.reaches("refreshing", "work"))
            let new = try start(scene)
            try #require(try await Polling.until { new.standardError.contains("which uses the store") })
            scene.issuer.release()
            let got = try await waiting.finish()
            #expect(got.status == 0, "\(got) \(scene.agent.log)")
            #expect(try await old.finish().status == 0)
            let get = try await scene.agent.tokenctl("get", "work", "--timeout", "30s")
            #expect(get.status == 0 && scene.refreshes == 1, "\(get)")
            new.signal(.terminate)
            #expect(try await new.finish().status == 0)
        }

        @Test(.holds("17")) func `leaves a store alone whose lock nobody holds`() async throws {
            let scene = try await Scene.loggedIn()
            try await scene.agent.kill()
            let new = try start(scene)
            try #require(
                try await Polling.until { try await scene.agent.tokenctl("get", "work").status == 0 }
            )
            #expect(!new.standardError.contains("which uses the store"), "\(new.standardError)")
            new.signal(.terminate)
            #expect(try await new.finish().status == 0)
        }
    }
}
