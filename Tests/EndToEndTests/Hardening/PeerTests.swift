// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The peers that get tokens, and the audit log about them.
    @Suite struct PeerTests {
        /// Runs `tokenctl get work` below git and a shell, as git runs its helpers.
        private static let throughGit = "git -c alias.t='!tokenctl get work' t"
        /// Logs in below git.
        private static let logInThroughGit = """
            echo alice-password | git -c alias.t='!tokenctl login work --flow password --username alice --password-stdin' t
            """
        /// The user without any rights.
        private static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

        @Test(.holds("6")) func `a session that is for git is shown to git's tokenctl and to nobody else`()
            async throws
        {
            let scene = try await Scene(session: #"allow = [{ exe = "/usr/bin/git" }]"#)
            try await scene.agent.start()
            try #require(try await scene.agent.shell(Self.logInThroughGit).status == 0)
            let token = try await scene.agent.shell(Self.throughGit)
            #expect(token.status == 0 && token.line.count > 20, "\(token)")
            let refused = try await scene.agent.tokenctl("get", "work")
            let unknown = try await scene.agent.tokenctl("get", "wrok")
            #expect(refused.status == 7)
            #expect(refused.standardError == unknown.standardError.replacing("wrok", with: "work"))
            #expect(try await scene.agent.tokenctl("list").standardOutput.isEmpty)
            #expect(try await scene.agent.socket.request("GET", "/v1/sessions/work").status == 404)
            // A program that git runs directly or indirectly is not git.
            let curl =
                "curl -s --unix-socket \(scene.agent.socketPath) http://tokenagent/v1/sessions/work/token"
            let direct = try await scene.agent.shell("git -c alias.c='!\(curl)' c")
            #expect(direct.standardOutput.contains("not_found"))
            let audit = try await scene.agent.shell("git -c alias.a='!tokenctl audit work' a")
            #expect(audit.standardOutput.contains("  served  work  "))
            #expect(audit.standardOutput.contains("  hidden  work  "))
            #expect(!audit.standardOutput.contains(token.line))
            #expect(try await scene.agent.tokenctl("audit").standardOutput.isEmpty)
        }

        @Test(.holds("6"), arguments: [true, false])
        func `the digest of a program decides too`(isRight: Bool) async throws {
            let path = try await Program.run(
                ["readlink", "-f", "/usr/bin/git"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            let sum = try await Program.run(["sha256sum", path.line], environment: ["PATH": "/usr/bin:/bin"])
            let digest = isRight ? sum.line.prefix(64) : Substring(String(repeating: "0", count: 64))
            let scene = try await Scene(
                session: "allow = [{ exe = \"/usr/bin/git\", sha256 = \"\(digest)\" }]"
            )
            try await scene.agent.start()
            // Only peers that may see the session learn that it is not logged in.
            let result = try await scene.agent.shell(Self.throughGit)
            #expect(result.status == (isRight ? 4 : 7), "\(result)")
        }

        @Test(.holds("6"), .enabled(if: mayBeNobody, "needs root, and programs that others may run"))
        func `an ordinary user's tokenctl is known though it cannot be looked at`() async throws {
            let scene = try await Scene(session: #"allow = [{ exe = "/usr/bin/git" }]"#)
            try await Self.give(scene)
            let agent = try await Self.startAsNobody(scene)
            func run(_ script: String) async throws -> ProgramResult {
                try await Program.run(
                    Self.nobody + ["sh", "-c", script],
                    environment: scene.agent.environment
                )
            }
            try #require(try await run(Self.logInThroughGit).status == 0)
            #expect(try await run(Self.throughGit).status == 0)
            #expect(try await run("tokenctl get work").status == 7)
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        @Test(
            .holds("4"),
            .enabled(if: mayBeNobody, "needs root, and programs that others may run"),
            arguments: [false, true]
        )
        func `root is let in only where the configuration says so`(isAllowed: Bool) async throws {
            let scene = try await Scene(more: "[agent]\nallow_root = \(isAllowed)\n")
            try await Self.give(scene)
            let agent = try await Self.startAsNobody(scene)
            let own = try await Program.run(
                Self.nobody + [
                    "sh", "-c",
                    "echo alice-password | tokenctl login work --flow password --username alice --password-stdin",
                ],
                environment: scene.agent.environment
            )
            try #require(own.status == 0, "\(own)")
            let curl =
                "curl -s --unix-socket \(scene.agent.socketPath) http://tokenagent/v1/sessions/work/token"
            let root = try await scene.agent.shell(curl)
            #expect(root.standardOutput.contains("access_token") == isAllowed)
            #expect((root.status == 0) == isAllowed)
            #expect(agent.standardError.contains("connection refused: another user") == !isAllowed)
            if isAllowed {
                let audit = try await scene.agent.shell(
                    "curl -s --unix-socket \(scene.agent.socketPath) http://tokenagent/v1/audit"
                )
                #expect(audit.standardOutput.contains(#""decision":"served""#))
                #expect(audit.standardOutput.contains(#""uid":0"#))
            }
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        @Test(.holds("5")) func `a connection that another program goes on with is nobody's`() async throws {
            let python = try await Program.run(
                ["sh", "-c", "python3 -c 'import os; print(os.readlink(\"/proc/self/exe\"))'"],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            let scene = try await Scene(session: "allow = [{ exe = \"\(python.line)\" }]")
            try await scene.agent.start()
            let script = """
                import os, socket, sys
                request = b"GET /v1/sessions/work/token HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n"
                def connect():
                    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); return s
                s = connect(); s.sendall(request)
                print("own", s.makefile("rb").readline().split()[1].decode(), flush=True)
                for _ in range(200):
                    if os.fork() == 0:
                        s = connect(); s.set_inheritable(True)
                        read, write = os.pipe()
                        if os.fork() != 0: os._exit(0)
                        os.close(write); os.read(read, 1)
                        os.dup2(s.fileno(), 9)
                        os.write(9, request)
                        os.execv("/bin/sh", ["sh", "-c", "read v c rest <&9; echo taken $c"])
                    os.wait()
                """
            let program = try Program(
                [python.line, "-c", script, scene.agent.socketPath],
                environment: scene.agent.environment
            )
            #expect(try await program.finish().status == 0, "\(program.standardError)")
            #expect(try await Polling.until { program.standardOutput.split(separator: "\n").count == 201 })
            let lines = program.standardOutput.split(separator: "\n")
            // Not logged in, which is told to the program the session is for.
            #expect(lines.first == "own 401")
            #expect(Set(lines.dropFirst()) == ["taken 404"])
            Attachment.record("200 connections handed on, 0 taken for the allowed program", named: "figure")
        }

        @Test(.holds("23")) func `a person is asked by the configured command`() async throws {
            let directory = try TemporaryDirectory()
            let (asked, yes) = (directory.path("asked"), directory.path("yes"))
            let scene = try await Scene.loggedIn(
                session: "allow = [{ confirm = true }]",
                more: """
                    [hooks]
                    confirm = ["sh", "-c", 'echo "$TOKENAGENT_QUESTION" >>"$0"; test -e "$1" || test $TOKENAGENT_ACTION = login', "\(asked)", "\(yes)"]
                    """
            )
            let refused = try await scene.agent.tokenctl("get", "work")
            #expect(refused.status == 8)
            #expect(refused.complainsInOneLine, "\(refused.standardError)")
            try directory.write("", to: "yes")
            let token = try await scene.token()
            let questions = (File.text(asked) ?? "").split(separator: "\n")
            #expect(questions.count == 3 && questions.first?.contains("log in to work") == true)
            #expect(questions.allSatisfy { $0.contains("work") && $0.hasSuffix("Allow it?") })
            #expect(!questions.joined().contains(token))
            let audit = try await scene.agent.tokenctl("audit", "--json")
            #expect(audit.standardOutput.split(separator: "\n").count { $0.contains("\"kind\":") } == 2)
            #expect(audit.standardOutput.contains(#""decision":"denied""#))
        }

        @Test(.holds("21")) func `a further socket gives out its session and follows a reload`() async throws
        {
            let scene = try await Scene.loggedIn()
            // A directory that the running agent may use; others need a restart.
            let path = scene.agent.home.path("run/tokenagent/work.sock")
            let plain = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(plain + "\n[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n")
            scene.agent.agent?.signal(.hangUp)
            #expect(try await Polling.until { SocketOwner.pid(path) != nil })
            let token = try await scene.token()
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", path).line == token)
            #expect(try await scene.agent.tokenctl("status", "work", "--socket", path).status == 0)
            #expect(try await scene.agent.tokenctl("refresh", "work", "--socket", path).status == 8)
            #expect(try await scene.agent.tokenctl("get", "home", "--socket", path).status == 7)
            #expect(try await scene.agent.tokenctl("lock", "--socket", path).status == 8)
            #expect(File.mode(path) == 0o600)
            let log = try await scene.agent.tokenctl("audit", "work")
            #expect(log.standardOutput.contains("through \(path)"))
            try scene.agent.configure(plain)
            scene.agent.agent?.signal(.hangUp)
            #expect(try await Polling.until { !File.exists(path) })
            #expect(try await scene.token() == token)
        }

        @Test(.holds("21")) func `a further socket may be anywhere from the start`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("shared/deep/work.sock")
            let socket = "[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n"
            let scene = try await Scene.loggedIn(more: socket)
            let token = try await scene.token()
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", path).line == token)
            #expect(File.mode(directory.path("shared/deep")) == 0o700)
            #expect(try await scene.agent.end() == 0)
            #expect(!File.exists(path))
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", path).line == token)
            // A killed agent leaves its socket file behind, and the next agent replaces it.
            try await scene.agent.kill()
            #expect(File.exists(path))
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", path).line == token)
        }

        @Test(.holds("140")) func `the audit log survives the agent and grows in one place`() async throws {
            let scene = try await Scene.loggedIn()
            _ = try await scene.token()
            #expect(try await scene.agent.end() == 0)
            try await scene.agent.start()
            let token = try await scene.token()
            let lines = try await scene.agent.tokenctl("audit", "work", "--json").standardOutput
            #expect(lines.split(separator: "\n").count == 3)
            #expect(!lines.contains(token))
            #expect(File.mode(scene.agent.statePath + "/audit.log") == 0o600)
            let follower = try scene.agent.startTokenctl(["audit", "--follow"])
            #expect(try await Polling.until { follower.standardOutput.split(separator: "\n").count == 3 })
            _ = try await scene.token()
            #expect(try await Polling.until { follower.standardOutput.split(separator: "\n").count == 4 })
            follower.signal(.interrupt)
            #expect(try await follower.finish().status == 130)
        }

        @Test(.holds("140"))
        func `a killed agent leaves whole audit lines, all but those of its last second`() async throws {
            let scene = try await Scene.loggedIn()
            let log = scene.agent.statePath + "/audit.log"
            func lines() -> [String] {
                let all = (File.text(log) ?? "").split(separator: "\n").map(String.init)
                return all.filter { $0.contains(#""session":"work""#) }
            }
            for _ in 0..<5 { _ = try await scene.token() }
            // Five tokens and the login.
            #expect(try await Polling.until { lines().count == 6 })
            let written = lines()
            _ = try await scene.token()
            try await scene.agent.kill()
            try await scene.agent.start()
            _ = try await scene.token()
            #expect(try await Polling.until { lines().count > written.count })
            #expect(Array(lines().prefix(written.count)) == written)
            let all = try await scene.agent.tokenctl("audit", "--json").standardOutput
            for line in all.split(separator: "\n") { _ = try JSONValue(parsing: line.utf8) }
        }

        // MARK: As nobody

        /// Whether a user without rights can run the programs of this build.
        static var mayBeNobody: Bool {
            TestUser.isRoot
                && Program.succeeds(
                    nobody.joined(separator: " ") + " '\(BuiltPrograms.agent)' --version >/dev/null"
                )
        }

        private static func give(_ scene: Scene) async throws {
            let given = try await scene.agent.shell("chown -R 65534:65534 '\(scene.agent.home.path)'")
            try #require(given.status == 0)
        }

        /// An agent of another user, which answers that user.
        private static func startAsNobody(_ scene: Scene) async throws -> Program {
            let agent = try Program(
                nobody + [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            let isReady = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return try await Program.run(
                    nobody + ["tokenctl", "list"],
                    environment: scene.agent.environment
                )
                .status == 0
            }
            try #require(isReady, "\(agent.standardError)")
            return agent
        }
    }
}
