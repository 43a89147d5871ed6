// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct ExecTests {
        @Test(.holds("131")) func `a program finds the token in a private file that goes with it`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let script = #"stat -c '%a %n' "$BEARER_TOKEN_FILE"; cat "$BEARER_TOKEN_FILE"; exit 23"#
            let result = try await scene.agent.tokenctl("exec", "work", "--", "sh", "-c", script)
            #expect(result.status == 23)
            #expect(result.standardError.isEmpty)
            let lines = result.standardOutput.split(separator: "\n")
            #expect(lines.count == 2 && lines[1] == token)
            #expect(lines[0].hasPrefix("600 \(scene.agent.home.path("run/tokenagent/exec"))/"))
            #expect(scene.agent.home.names(in: "run/tokenagent/exec").isEmpty)
        }

        @Test(.holds("35", "131")) func `a program inherits no descriptor and no secret`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let script = "ls /proc/self/fd | tr '\\n' ' '; tr '\\0' '\\n' < /proc/$$/environ; echo $$ $PPID"
            let result = try await scene.agent.tokenctl("exec", "work", "--", "sh", "-c", script)
            // 3 is the directory that ls reads.
            #expect(result.standardOutput.hasPrefix("0 1 2 3 "))
            #expect(result.standardOutput.contains(token) == false)
            let named = try await scene.agent.tokenctl(
                ["exec", "work", "--env", "API_TOKEN", "--", "sh", "-c", "echo $API_TOKEN"]
            )
            #expect(named.line == token)
        }

        @Test(.holds("242")) func `the file follows a refresh`() async throws {
            let scene = try await Scene.loggedIn()
            let program = try scene.agent.startTokenctl(
                [
                    "exec", "work", "--", "sh", "-c",
                    #"echo "$BEARER_TOKEN_FILE"; exec cat > /dev/null 2>&1 < /dev/zero"#,
                ]
            )
            let path = try await program.outputLine(containing: "/token")
            let first = try #require(File.text(path))
            _ = try await scene.agent.tokenctl("refresh", "work")
            let second = try await Polling.value { File.text(path).flatMap { $0 == first ? nil : $0 } }
            #expect(try await scene.isAccepted(#require(second)))
            program.signal(.terminate)
            #expect(try await program.finish().status == 143)
            #expect(File.text(path) == nil)
        }

        @Test(.holds("242"))
        func `the file has every name that is asked for, and holds the ID token if that is`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let names = ["AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_FEDERATED_TOKEN_FILE"]
            let script =
                #"cat "$AWS_WEB_IDENTITY_TOKEN_FILE"; echo " $BEARER_TOKEN_FILE $AZURE_FEDERATED_TOKEN_FILE""#
            let result = try await scene.agent.tokenctl(
                ["exec", "work", "--id-token"] + names.flatMap { ["--file-env", $0] } + [
                    "--", "sh", "-c", script,
                ]
            )
            let words = result.standardOutput.split(separator: " ").map {
                String($0).replacing("\n", with: "")
            }
            try #require(result.status == 0 && words.count == 3, "\(result)")
            #expect(words[0] == (try await scene.token("--id-token")))
            #expect(words[1] == words[2] && words[1].hasSuffix("/token") && !File.exists(words[1]))
            for wrong in [["--file-env", "A=B"], ["--file-env", "1A"], ["--file-env", "A", "--env", "A"]] {
                let refused = try await scene.agent.tokenctl(["exec", "work"] + wrong + ["--", "true"])
                #expect(refused.status == 2, "\(refused)")
            }
        }

        @Test func `who continues the command continues the program`() async throws {
            let scene = try await Scene.loggedIn()
            let script = "echo stopping; kill -STOP $$; echo going on"
            let program = try scene.agent.startTokenctl(["exec", "work", "--", "sh", "-c", script])
            _ = try await program.outputLine(containing: "stopping")
            // It may not have stopped yet.
            let isOver = try await Polling.until {
                program.signal(.proceed)
                return program.exitStatus != nil
            }
            #expect(isOver && program.standardOutput.contains("going on"), "\(program.standardOutput)")
        }

        @Test func `signals reach the program, whose status is the answer`() async throws {
            let scene = try await Scene.loggedIn()
            // Waits without using the processor, and leaves nothing behind when a signal ends it.
            let script = "trap 'echo caught; exit 7' USR1; tail -f /dev/null --pid=$$ & echo ready; wait"
            for (signal, status) in [(Signal.user1, Int32(7)), (.hangUp, 129), (.interrupt, 130)] {
                let program = try scene.agent.startTokenctl(["exec", "work", "--", "bash", "-c", script])
                _ = try await program.outputLine(containing: "ready")
                program.signal(signal)
                #expect(try await program.finish().status == status)
            }
            #expect(try await scene.agent.tokenctl("exec", "work", "--", "/nonexistent").status == 127)
            #expect(try await scene.agent.tokenctl("exec", "nobody", "--", "true").status == 7)
        }

        @Test(.holds("131")) func `what a killed one left is gone at the next start`() async throws {
            let scene = try await Scene.loggedIn()
            let killed = try scene.agent.startTokenctl(
                [
                    "exec", "work", "--", "sh", "-c",
                    #"echo "$BEARER_TOKEN_FILE"; echo $$; exec tail -f /dev/null"#,
                ]
            )
            let path = try await killed.outputLine(containing: "/token")
            killed.signal(.kill)
            try await killed.finish()
            #expect(File.text(path) != nil)
            let living = try scene.agent.startTokenctl(
                ["exec", "work", "--", "sh", "-c", #"echo "$BEARER_TOKEN_FILE"; exec tail -f /dev/null"#]
            )
            let other = try await living.outputLine(containing: "/token")
            #expect(File.text(path) == nil)
            #expect(try await scene.agent.tokenctl("exec", "work", "--", "true").status == 0)
            #expect(File.text(other) != nil)
            living.signal(.terminate)
            try await living.finish()
            let orphan = killed.standardOutput.split(separator: "\n").last.map(String.init) ?? "0"
            #expect(Program.succeeds("kill \(orphan)"))
        }

        @Test func `what a killed one left is gone when the agent starts again`() async throws {
            let scene = try await Scene.loggedIn()
            let script = #"echo "$BEARER_TOKEN_FILE"; echo "pid $$"; exec tail -f /dev/null"#
            let killed = try scene.agent.startTokenctl(["exec", "work", "--", "sh", "-c", script])
            let living = try scene.agent.startTokenctl(["exec", "work", "--", "sh", "-c", script])
            let orphan = try await killed.outputLine(containing: "pid ").dropFirst(4)
            let left = try await killed.outputLine(containing: "/token")
            let kept = try await living.outputLine(containing: "/token")
            killed.signal(.kill)
            try await killed.finish()
            try await scene.agent.kill()
            #expect(File.text(left) != nil)
            try await scene.agent.start()
            #expect(File.text(left) == nil)
            #expect(File.text(kept) != nil)
            #expect(scene.agent.home.names(in: "run/tokenagent/exec").count == 1)
            living.signal(.terminate)
            try await living.finish()
            #expect(Program.succeeds("kill \(orphan)"))
        }
    }
}
