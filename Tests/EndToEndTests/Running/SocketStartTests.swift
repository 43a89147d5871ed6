// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Where the socket may be, and who sees it while it is made.
    @Suite struct SocketStartTests {
        /// Notes every mode of the socket and its directory that is not as promised, from before they exist.
        private static let watcher = """
            import os, stat, sys
            run, path = sys.argv[1], sys.argv[2]
            print("watching", flush=True)
            seen = 0
            while True:
                for name, wanted in ((run, 0o700), (path, 0o600)):
                    try:
                        mode = stat.S_IMODE(os.lstat(name).st_mode)
                    except FileNotFoundError:
                        continue
                    if mode & ~wanted: print("wider", name, oct(mode), flush=True)
                    elif name == path and not seen:
                        seen = 1
                        print("seen", flush=True)
            """

        @Test(.holds("1"), arguments: ["0", "0777", "022"])
        func `nobody else can reach the socket, also not while it is made`(umask: String) async throws {
            let scene = try await Scene()
            let run = scene.agent.home.path("run/tokenagent")
            let watcher = try Program(
                ["python3", "-c", Self.watcher, run, scene.agent.socketPath],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            _ = try await watcher.outputLine(containing: "watching")
            try await scene.agent.start(wrapper: ["sh", "-c", "umask \(umask); exec \"$0\" \"$@\""])
            _ = try await watcher.outputLine(containing: "seen")
            #expect(File.mode(run) == 0o700)
            #expect(File.mode(scene.agent.socketPath) == 0o600)
            try await scene.agent.end()
            watcher.signal(.kill)
            #expect(!watcher.standardOutput.contains("wider"), "\(watcher.standardOutput)")
        }

        private static let kinds =
            ["link", "open", "file", "open above", "missing below open", "socket's place taken"]
            + (TestUser.isRoot ? ["of another"] : [])

        @Test(.holds("2"), arguments: kinds, ["--foreground", "-s"])
        func `a place that others could change is refused and stays as it is`(
            kind: String,
            option: String
        ) async throws {
            let scene = try await Scene()
            let place = scene.agent.home.path("place")
            let script =
                switch kind {
                case "link": "mkdir -m 700 \(place)-else && ln -s \(place)-else \(place)"
                case "open": "mkdir -m 770 \(place) && chmod 770 \(place)"
                case "file": ": >\(place)"
                case "open above": "mkdir -m 700 \(place) \(place)/in && chmod 777 \(place)"
                case "missing below open": "mkdir \(place) && chmod 777 \(place)"
                case "socket's place taken": "mkdir -m 700 \(place) && : >\(place)/agent.sock"
                default: "mkdir -m 700 \(place) && chown 65534 \(place)"
                }
            try #require(try await scene.agent.shell(script).status == 0)
            let before = try await scene.agent.shell(Self.everything).standardOutput
            let below = ["open above": "/in", "missing below open": "/run/deep"][kind] ?? ""
            let result = try await Program.run(
                [BuiltPrograms.agent, option, "-a", place + below + "/agent.sock"],
                environment: scene.agent.environment
            )
            let isTaken = kind == "socket's place taken"
            #expect(result.status == (isTaken ? 1 : 2), "\(result)")
            #expect(result.complainsInOneLine, "\(result)")
            let reason = isTaken ? "exists and is not a socket" : "tokenagent: refusing the directory"
            #expect(result.standardError.contains(reason), "\(result)")
            // Neither a store nor anything else.
            #expect(try await scene.agent.shell(Self.everything).standardOutput == before)
        }

        /// Prints what is below the home, but for the file under whose lock sockets are claimed.
        private static let everything = """
            cd "$HOME" && find . ! -name agent.sock.lock -printf '%y %m %U %s %p %l\n' | sort
            """

        @Test(.holds("17"), arguments: ["no socket", "two sockets", "none", "another process", "a file"])
        func `only one listening socket, passed to this process, is taken over`(kind: String) async throws {
            let scene = try await Scene()
            let script = """
                import os, socket, sys
                kind, path = sys.argv[1], sys.argv[2]
                s = socket.socket(socket.AF_UNIX)
                if kind != "no socket": s.bind(path); s.listen()
                if kind == "a file": s = open(os.devnull)
                os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
                os.dup2(s.fileno(), 4); os.set_inheritable(4, True)
                os.environ["LISTEN_FDS"] = {"two sockets": "2", "none": "0"}.get(kind, "1")
                os.environ["LISTEN_PID"] = str(os.getpid() + (1 if kind == "another process" else 0))
                os.execv(sys.argv[3], sys.argv[3:])
                """
            let result = try await Program.run(
                [
                    "python3", "-c", script, kind, scene.agent.home.path("run/passed.sock"),
                    BuiltPrograms.agent,
                    "--foreground",
                ],
                environment: scene.agent.environment
            )
            #expect(result.status == 2, "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(!File.exists(scene.agent.socketPath))
        }
    }
}
