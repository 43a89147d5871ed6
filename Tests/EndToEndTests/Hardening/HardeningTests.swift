// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct HardeningTests {
        @Test(.holds("25", "132"), arguments: StartMode.allCases)
        func `the agent has given up what it does not need, in every thread`(mode: StartMode) async throws {
            let scene = try await Scene()
            let (program, agent) = try await mode.start(scene)
            try await scene.logIn()
            let threads = File.names(in: "/proc/\(agent)/task")
            #expect(threads.count > 1)
            for thread in threads {
                let status = try #require(File.text("/proc/\(agent)/task/\(thread)/status"))
                let expected = [
                    "NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000",
                ]
                for line in expected { #expect(status.contains(line + "\n"), "\(line) in \(thread)") }
            }
            let limits = try #require(File.text("/proc/\(agent)/limits"))
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").filter { $0 == "0" }.count == 2)
            let doctor = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(doctor.contains("ok       sandbox"), "\(doctor)")
            #expect(Program.succeeds("kill \(agent)"))
            program.signal(.terminate)
        }

        @Test(.holds("3"), .enabled(if: TestUser.isRoot, "only root can become somebody else"))
        func `another user is sent away even where the socket is open`() async throws {
            let scene = try await Scene.loggedIn()
            let directory = scene.agent.home.path("run/tokenagent")
            let opened = try await scene.agent.shell(
                "chmod 755 '\(scene.agent.home.path)' '\(scene.agent.home.path("run"))' '\(directory)' && chmod 666 '\(scene.agent.socketPath)'"
            )
            try #require(opened.status == 0)
            let stranger = try await scene.agent.shell(
                """
                setpriv --reuid 65534 --regid 65534 --clear-groups \
                    curl -s --max-time 5 --unix-socket '\(scene.agent.socketPath)' http://tokenagent/v1/sessions/work/token
                """
            )
            #expect(stranger.status != 0)
            #expect(stranger.standardOutput.isEmpty)
            #expect(try await Polling.until { scene.agent.log.contains("65534") })
            #expect(try await scene.token().isEmpty == false)
        }

        @Test(.holds("137"), .enabled(if: TestUser.isRoot, "only root can start a program as sudo does"))
        func `an agent that sudo started refuses, unless root is meant`() async throws {
            let scene = try await Scene()
            let sudo = ["SUDO_UID": "1000", "SUDO_USER": "alice"]
            let refused = try await Program.run(
                [BuiltPrograms.agent, "--foreground"],
                environment: scene.agent.environment.merging(sudo) { $1 }
            )
            #expect(refused.status == 8)
            #expect(refused.complainsInOneLine && refused.standardError.contains("--allow-root"))
            #expect(!File.exists(scene.agent.statePath))
            try await scene.agent.start("--allow-root", extraEnvironment: sudo)
            #expect(try await scene.agent.end() == 0)
        }

        @Test(
            .holds("137"),
            .enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs")
        )
        func `a set-uid copy refuses`() async throws {
            let directory = try TemporaryDirectory()
            let copies = ["\(BuiltPrograms.agent)": "agent", "/usr/bin/id": "id"]
            for (program, name) in copies {
                let copy = directory.path(name)
                try #require(Program.succeeds("cp '\(program)' '\(copy)' && chmod 4755 '\(copy)'"))
            }
            try #require(Program.succeeds("chmod 755 '\(directory.path)'"))
            let identity = try await Program.run(
                OtherUser.wrapper + [directory.path("id")],
                environment: [:]
            )
            // Some file systems and containers ignore set-uid altogether.
            guard identity.standardOutput.contains("euid=0") else { return }
            let refused = try await Program.run(
                OtherUser.wrapper + [directory.path("agent"), "--foreground"],
                environment: ["HOME": directory.path, "XDG_RUNTIME_DIR": directory.path]
            )
            #expect(refused.status == 8, "\(refused)")
            #expect(refused.standardError.contains("set-uid"))
            #expect(directory.names() == ["agent", "id"])
        }
    }
}
