// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct StartTests {
        @Test func `eval of the output gives a shell its agent`() async throws {
            let scene = try await Scene()
            let result = try await scene.agent.shell(
                """
                eval "$(tokenagent -s)" || exit 1
                test "$TOKENAGENT_SOCK" = "\(scene.agent.socketPath)" || exit 2
                kill -0 "$TOKENAGENT_PID" || exit 3
                tokenctl list >/dev/null || exit 4
                tokenagent -k || exit 5
                test ! -e "/proc/$TOKENAGENT_PID" || grep -q '^State:.Z' "/proc/$TOKENAGENT_PID/status" || exit 6
                old=$TOKENAGENT_PID
                eval "$(tokenagent -s)" || exit 7
                test "$TOKENAGENT_PID" != "$old" || exit 8
                sock=$TOKENAGENT_SOCK
                words=$(tokenagent -k) || exit 9
                eval "$words" || exit 10
                test -z "${TOKENAGENT_SOCK+set}${TOKENAGENT_PID+set}" || exit 11
                test ! -e "$sock"
                """
            )
            #expect(result.status == 0, "\(result)")
        }

        @Test(arguments: [
            (
                "-c", "setenv TOKENAGENT_SOCK ",
                "unsetenv TOKENAGENT_SOCK;\nunsetenv TOKENAGENT_PID;\n"
            ),
            (
                "--fish", "set -gx TOKENAGENT_SOCK ",
                "set -e TOKENAGENT_SOCK;\nset -e TOKENAGENT_PID;\n"
            ),
            ("-s", "TOKENAGENT_SOCK=", "unset TOKENAGENT_SOCK;\nunset TOKENAGENT_PID;\n"),
        ])
        func `each shell gets its own words`(
            option: String,
            beginning: String,
            forgetting: String
        ) async throws {
            let scene = try await Scene()
            let first = try await Program.run(
                [BuiltPrograms.agent, option],
                environment: scene.agent.environment
            )
            #expect(first.status == 0, "\(first.standardError)")
            #expect(first.standardOutput.contains(beginning), "\(first.standardOutput)")
            #expect(first.standardOutput.contains("TOKENAGENT_PID"))
            // A second start is told about the first one.
            let second = try await Program.run(
                [BuiltPrograms.agent, option],
                environment: scene.agent.environment
            )
            #expect(second.status == 0)
            #expect(second.standardOutput == first.standardOutput)
            #expect(!second.standardError.isEmpty)
            let stop = try await Program.run(
                [BuiltPrograms.agent, "-k", option],
                environment: scene.agent.environment
            )
            #expect(stop.status == 0 && stop.standardError.isEmpty)
            #expect(stop.standardOutput == forgetting)
        }

        @Test func `-k without an agent is 3`() async throws {
            let agent = try AgentUnderTest()
            let result = try await Program.run([BuiltPrograms.agent, "-k"], environment: agent.environment)
            #expect(result.status == 3)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardOutput.isEmpty)
        }

        @Test func `an agent around a command ends with it and has its status`() async throws {
            let scene = try await Scene()
            let script = #"tokenctl list >/dev/null || exit 1; echo "$TOKENAGENT_SOCK"; exit 7"#
            let result = try await Program.run(
                [BuiltPrograms.agent, "/bin/sh", "-c", script],
                environment: scene.agent.environment
            )
            #expect(result.status == 7, "\(result)")
            #expect(result.line == scene.agent.socketPath)
            #expect(try await Polling.until { SocketOwner.pid(scene.agent.socketPath) == nil })
        }

        @Test(.holds("63")) func `two agents never share a store`() async throws {
            let scene = try await Scene.loggedIn()
            let other = scene.agent.home.path("run/other.sock")
            let second = try await Program.run(
                [BuiltPrograms.agent, "--foreground", "-a", other],
                environment: scene.agent.environment
            )
            #expect(second.status != 0)
            #expect(second.complainsInOneLine, "\(second.standardError)")
            #expect(!File.exists(other))
            #expect(try await scene.token().isEmpty == false)
        }

        @Test(.holds("15", "63")) func `twenty starts at once leave one agent`() async throws {
            let scene = try await Scene()
            let starts = try (0..<20).map { _ in
                try Program([BuiltPrograms.agent, "-s"], environment: scene.agent.environment)
            }
            var outputs: Set<String> = []
            for start in starts {
                let result = try await start.finish()
                #expect(result.status == 0, "\(result.standardError)")
                outputs.insert(result.standardOutput)
            }
            #expect(outputs.count == 1)
            #expect(
                try await Program.run([BuiltPrograms.agent, "-k"], environment: scene.agent.environment)
                    .status == 0
            )
        }

        @Test(.holds("15")) func `of two starts at once each time one agent is left, for both`() async throws
        {
            let scene = try await Scene()
            let rounds = TestEnvironment.isFull ? 200 : 5
            var times: [Duration] = []
            for round in 0..<rounds {
                let began = ContinuousClock.now
                let starts = try (0..<2).map { _ in
                    try Program([BuiltPrograms.agent, "-s"], environment: scene.agent.environment)
                }
                let results = [try await starts[0].finish(), try await starts[1].finish()]
                times.append(ContinuousClock.now - began)
                #expect(results.allSatisfy { $0.status == 0 }, "round \(round): \(results)")
                #expect(results[0].standardOutput == results[1].standardOutput)
                // The next ones find what a killed agent leaves.
                let pid = try #require(SocketOwner.pid(scene.agent.socketPath))
                #expect(results[0].standardOutput.contains("TOKENAGENT_PID=\(pid);"), "\(results[0])")
                #expect(Program.succeeds("kill -KILL \(pid)"))
                #expect(File.exists(scene.agent.socketPath))
            }
            times.sort()
            Attachment.record(
                "\(rounds) of \(rounds), both know the agent after \(times[rounds / 2]) (median)",
                named: "figure"
            )
        }

        @Test(.holds("15")) func `a socket left by a killed agent is taken over`() async throws {
            let scene = try await Scene.loggedIn()
            try await scene.agent.kill()
            #expect(File.exists(scene.agent.socketPath))
            try await scene.agent.start()
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `tokenctl starts an agent by itself`() async throws {
            let scene = try await Scene()
            let result = try await scene.agent.tokenctl(
                "list",
                extraEnvironment: ["TOKENAGENT_AUTOSTART": "1"]
            )
            #expect(result.status == 0, "\(result)")
            #expect(SocketOwner.pid(scene.agent.socketPath) != nil)
            #expect(try await scene.agent.tokenctl("shutdown").status == 0)
            #expect(try await Polling.until { SocketOwner.pid(scene.agent.socketPath) == nil })
        }

        @Test(.holds("17")) func `a socket passed by systemd is used and left alone`() async throws {
            let scene = try await Scene()
            let path = scene.agent.home.path("run/passed.sock")
            let script = """
                import os, socket, sys
                s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o600); s.listen()
                os.dup2(s.fileno(), 3)
                os.set_inheritable(3, True)
                os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
                os.execv(sys.argv[2], sys.argv[2:])
                """
            let agent = try Program(
                ["/usr/bin/env", "python3", "-c", script, path, BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            let socket = ConnectedAgentSocket(path: path)
            let answers = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return (try? await socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
            }
            #expect(answers)
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
            #expect(File.exists(path))
        }

        @Test func `readiness is told to systemd`() async throws {
            let scene = try await Scene()
            let script = """
                import os, socket, subprocess, sys
                n = os.environ["HOME"] + "/notify"
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(n); s.settimeout(20)
                p = subprocess.Popen(sys.argv[1:], env=dict(os.environ, NOTIFY_SOCKET=n))
                print(s.recv(4096).decode(), flush=True)
                p.terminate(); sys.exit(p.wait(20))
                """
            let result = try await Program.run(
                ["/usr/bin/env", "python3", "-c", script, BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.contains("READY=1"))
        }

        @Test func `SIGHUP reads the configuration again, and a mistake changes nothing`() async throws {
            let scene = try await Scene.loggedIn()
            let good = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(good + Scene.session("home", scene.issuer))
            scene.agent.agent?.signal(.hangUp)
            #expect(try await Polling.until { try await scene.agent.tokenctl("get", "home").status == 4 })
            try scene.agent.configure(good + "[session.third]\nnonsense = 1\n")
            scene.agent.agent?.signal(.hangUp)
            #expect(try await Polling.until { scene.agent.log.contains("nonsense") })
            #expect(try await scene.agent.tokenctl("get", "home").status == 4)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `SIGHUP while it is locked counts when it is unlocked`() async throws {
            let scene = try await Scene.loggedIn()
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            let good = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(good + Scene.session("home", scene.issuer))
            scene.agent.agent?.signal(.hangUp)
            let words = "reload delayed until the agent is unlocked"
            #expect(try await Polling.until { scene.agent.log.contains(words) })
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.agent.tokenctl("get", "home").status == 4)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test(.holds("18")) func `a path too long for a socket is a clear error`() async throws {
            let scene = try await Scene()
            let long = scene.agent.home.path(String(repeating: "x", count: 108))
            let result = try await Program.run(
                [BuiltPrograms.agent, "--foreground", "-a", long],
                environment: scene.agent.environment
            )
            #expect(result.status != 0)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("107"))
        }

        @Test func `whoever reads what a start says comes to its end`() async throws {
            let scene = try await Scene()
            let result = try await scene.agent.shell("tokenagent -s 2>&1 | cat; tokenagent -k -s >/dev/null")
            #expect(result.status == 0 && result.standardOutput.contains("TOKENAGENT_SOCK"), "\(result)")
        }

        @Test(arguments: ["-D", "--foreground"])
        func `SIGTERM and SIGINT end it with 0`(option: String) async throws {
            let scene = try await Scene()
            for signal in [Signal.terminate, .interrupt] {
                try await scene.agent.start()
                let status = try await scene.agent.end(signal)
                #expect(status == 0, "\(scene.agent.log)")
                #expect(!File.exists(scene.agent.socketPath))
            }
        }
    }
}
