// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The files of `[[file]]`, kept by a whole agent inside its own confinement.
    @Suite struct TokenFileTests {
        private static func table(_ path: String, _ more: String = "") -> String {
            "[[file]]\npath = \"\(path)\"\nsession = \"work\"\n\(more)\n"
        }

        @Test(.holds("240")) func `the file follows the session from login to logout`() async throws {
            let tokens = try TemporaryDirectory()
            let (access, id) = (tokens.path("new/access"), tokens.path("id"))
            let scene = try await Scene.loggedIn(
                more: Self.table(access) + Self.table(id, "id_token = true")
            )
            let token = try await scene.token()
            #expect(File.text(access) == token && File.mode(access) == 0o600)
            #expect(File.text(id) == (try await scene.token("--id-token")))
            _ = try await scene.agent.tokenctl("refresh", "work")
            let next = try await scene.token()
            #expect(next != token)
            #expect(try await Polling.until { File.text(access) == next })
            let audit = try await scene.agent.tokenctl("audit", "work")
            #expect(audit.standardOutput.contains("by the agent itself  in \(access)"), "\(audit)")
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(tokens.names(in: "new").isEmpty && !File.exists(id))
            try await scene.logIn()
            #expect(File.exists(access) && File.exists(id))
            #expect(try await scene.agent.tokenctl("shutdown").status == 0)
            #expect(!File.exists(access) && !File.exists(id))
        }

        @Test(.holds("240")) func `readers always find a token that is good for a while, and whole`()
            async throws
        {
            let tokens = try TemporaryDirectory()
            let path = tokens.path("work")
            let scene = try await Scene.loggedIn(
                { $0.accessLifetime = .seconds(6) },
                more: Self.table(path)
            )
            let watch = Watch { [File.text(path) ?? "absent"] }
            let end = ContinuousClock.now + .seconds(12)
            var isAlwaysAccepted = true
            while ContinuousClock.now < end {
                let token = File.text(path) ?? "absent"
                let isAccepted = try await scene.isAccepted(token)
                isAlwaysAccepted = isAlwaysAccepted && isAccepted
            }
            let seen = await watch.stop()
            #expect(isAlwaysAccepted)
            #expect(!seen.findings.contains("absent") && !seen.findings.contains(""))
            #expect((3...8).contains(seen.findings.count), "\(seen.findings.count)")
            #expect(scene.refreshes <= 8)
        }

        @Test(.holds("241"))
        func `what a killed agent left goes with its unit, or before the next agent is ready`()
            async throws
        {
            let tokens = try TemporaryDirectory()
            let path = tokens.path("work")
            let scene = try await Scene.loggedIn(more: Self.table(path))
            let remove = "tokenagent --remove-token-files"
            // An agent that runs keeps its files.
            #expect(try await scene.agent.shell(remove).status == 0)
            #expect(File.exists(path))
            try await scene.agent.kill()
            #expect(File.exists(path))
            let removed = try await scene.agent.shell(remove)
            #expect(removed.status == 0 && removed.standardError.isEmpty, "\(removed)")
            #expect(tokens.names().isEmpty)
            try await scene.agent.start()
            #expect(try await Polling.until { File.exists(path) })
            try await scene.agent.kill()
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing(Self.table(path), with: ""))
            try await scene.agent.start()
            #expect(tokens.names().isEmpty)
        }

        @Test(.holds("241")) func `an agent that was killed and has not ended yet is waited for`()
            async throws
        {
            let tokens = try TemporaryDirectory()
            let scene = try await Scene.loggedIn(more: Self.table(tokens.path("work")))
            try await scene.agent.kill()
            // What the kernel does as long as one of its threads waits for a disk.
            let lock = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX)"
            let rest = try Program(
                [
                    "python3", "-c", lock + "; print('held', flush=True); time.sleep(600)",
                    scene.agent.statePath + "/lock",
                ],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            _ = try await rest.outputLine(containing: "held")
            let removal = try Program(
                [BuiltPrograms.agent, "--remove-token-files"],
                environment: scene.agent.environment
            )
            let opened = "ls -l /proc/\(removal.pid)/fd | grep -q '/lock$'"
            #expect(try await Polling.until { removal.exitStatus != nil || Program.succeeds(opened) })
            #expect(tokens.names() == ["work"])
            rest.signal(.kill)
            try await rest.finish()
            let removed = try await removal.finish()
            #expect(removed.status == 0 && tokens.names().isEmpty, "\(removed)")
        }

        @Test func `a new directory needs a restart, and a reload says so`() async throws {
            let tokens = try TemporaryDirectory()
            let (old, new) = (tokens.path("old/work"), tokens.path("new/work"))
            let scene = try await Scene.loggedIn(more: Self.table(old))
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing(old, with: new))
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.standardOutput.contains("file \(new)"), "\(reload)")
            #expect(reload.standardOutput.contains("does not exist"), "\(reload)")
            #expect(tokens.names(in: "old").isEmpty)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await Polling.until { File.exists(new) })
        }

        @Test func `it is there, and gone, when the reload that asked for it ends`() async throws {
            let tokens = try TemporaryDirectory()
            let (old, new) = (tokens.path("one"), tokens.path("other"))
            let scene = try await Scene.loggedIn(more: Self.table(old))
            #expect(try await Polling.until { File.exists(old) })
            let text = try #require(File.text(scene.agent.configurationPath))
            for (path, former) in [(new, old), (old, new), (new, old)] {
                try scene.agent.configure(text.replacing(old, with: path))
                let reload = try await scene.agent.tokenctl("reload")
                #expect(reload.status == 0 && File.exists(path) && !File.exists(former), "\(reload)")
            }
        }

        @Test(.holds("241"))
        func `it is no place for a directory that others can write, nor for rules or keys`()
            async throws
        {
            let scene = try await Scene.loggedIn(
                more: Self.table("/tmp/tokenagent-\(Int.random(in: 0...Int.max))")
            )
            #expect(scene.agent.log.contains("refusing the directory /tmp"), "\(scene.agent.log)")
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.standardOutput.contains("refusing the directory /tmp"), "\(doctor)")
            let ruled = try await Scene(
                session: "allow = [{ exe = \"/usr/bin/git\" }]",
                more: Self.table("/x/y")
            )
            let check = try await ruled.agent.shell("tokenagent --check-config")
            let words = "file.session: session \"work\" has allow rules"
            #expect(check.status == 2 && check.standardError.contains(words), "\(check)")
        }
    }
}
