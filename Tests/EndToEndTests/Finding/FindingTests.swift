// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Clients that look for an agent that was started with another environment.
    @Suite struct FindingTests {
        /// Runtime directories that count as unset.
        ///
        /// `nil` removes the variable.
        private static let useless: [String?] = [nil, "relative", "/nonexistent/1000", "FOREIGN"]

        private let scene: Scene

        init() async throws {
            scene = try await Scene()
        }

        private var statePath: String { scene.agent.statePath + "/run/agent.sock" }

        /// The variables of a client or agent with another runtime directory.
        private func environment(_ runtime: String?) throws -> [String: String] {
            var environment = scene.agent.environment
            environment["XDG_RUNTIME_DIR"] = runtime
            guard runtime == "FOREIGN" else { return environment }
            environment["XDG_RUNTIME_DIR"] = "/"
            guard TestUser.isRoot else { return environment }
            let foreign = try scene.agent.home.makeDirectory("foreign")
            try #require(chown(foreign, 65_534, 65_534) == 0)
            environment["XDG_RUNTIME_DIR"] = foreign
            return environment
        }

        private func tokenctl(
            _ arguments: String...,
            environment: [String: String]
        ) async throws -> ProgramResult {
            try await Program.run([BuiltPrograms.client] + arguments, environment: environment)
        }

        /// Starts an agent in the background, without a runtime directory that could be used.
        private func startElsewhere(_ runtime: String? = nil) async throws {
            let started = try await Program.run(
                [BuiltPrograms.agent, "-s"],
                environment: environment(runtime)
            )
            try #require(started.status == 0, "\(started)")
            #expect(started.standardOutput.contains(statePath))
        }

        @Test(.holds("15"), arguments: useless)
        func `a client without the agent's runtime directory finds the agent`(runtime: String?) async throws {
            try await scene.agent.start()
            try await scene.logIn()
            let token = try await scene.token()
            let client = try environment(runtime)
            let get = try await tokenctl("get", "work", environment: client)
            #expect(get.status == 0 && get.line == token, "\(get)")
            let socket = try await tokenctl("agent-socket", environment: client)
            #expect(socket.line == scene.agent.socketPath, "\(socket)")
            let doctor = try await tokenctl("doctor", environment: client)
            #expect(doctor.standardOutput.contains("ok       agent: process"), "\(doctor)")
            // A command that writes a file next to the socket finds a directory for it.
            let exec = try await tokenctl(
                "exec",
                "work",
                "--",
                "sh",
                "-c",
                "cat $BEARER_TOKEN_FILE",
                environment: client
            )
            #expect(exec.status == 0 && exec.standardOutput == token, "\(exec)")
            // A second start says where the agent is, and starts none.
            let start = try await Program.run([BuiltPrograms.agent, "-s"], environment: client)
            #expect(start.standardOutput.contains(scene.agent.socketPath), "\(start)")
            let shutdown = try await tokenctl("shutdown", environment: client)
            #expect(shutdown.status == 0, "\(shutdown)")
            #expect(SocketOwner.pid(scene.agent.socketPath) == nil)
        }

        @Test(.holds("15"), arguments: useless)
        func `a client with a runtime directory finds the agent without one`(runtime: String?) async throws {
            try await startElsewhere(runtime)
            #expect(try await scene.agent.tokenctl("list").line == "work")
            #expect(
                try await scene.agent.tokenctl("agent-socket", "--json").line
                    == #"{"socket":"\#(statePath)"}"#
            )
            let stop = try await Program.run(
                [BuiltPrograms.agent, "-k"],
                environment: scene.agent.environment
            )
            #expect(stop.status == 0, "\(stop)")
            #expect(SocketOwner.pid(statePath) == nil)
        }

        @Test(.holds("15")) func `a command that starts an agent elsewhere uses the one that runs`()
            async throws
        {
            try await startElsewhere()
            let list = try await scene.agent.tokenctl("list", extraEnvironment: ["TOKENAGENT_AUTOSTART": "1"])
            #expect(list.status == 0 && list.line == "work" && list.standardError.isEmpty, "\(list)")
            #expect(!File.exists(scene.agent.socketPath))
        }

        @Test(.holds("15")) func `no other agent is looked for where a socket is named`() async throws {
            try await startElsewhere()
            let named = scene.agent.home.path("run/named.sock")
            for result in [
                try await scene.agent.tokenctl("list", "--socket", named),
                try await scene.agent.tokenctl("list", extraEnvironment: ["TOKENAGENT_SOCK": named]),
                try await Program.run(
                    [BuiltPrograms.agent, "-k", "-a", named],
                    environment: scene.agent.environment
                ),
                try await Program.run(
                    [BuiltPrograms.agent, "-k"],
                    environment: scene.agent.environment.merging(["TOKENAGENT_SOCK": named]) { $1 }
                ),
            ] {
                #expect(result.status == 3, "\(result)")
            }
            // The message tells the user that another agent was started.
            let started = try await scene.agent.tokenctl(
                "list",
                "--socket",
                named,
                extraEnvironment: ["TOKENAGENT_AUTOSTART": "1"]
            )
            #expect(started.status == 3 && started.standardError.contains("already running at \(statePath)"))
            #expect(started.standardError.hasSuffix("\n  Retry: without --socket\n"), "\(started)")
        }

        @Test func `a variable that names no agent is to be unset`() async throws {
            try await startElsewhere()
            let wrong = [
                "TOKENAGENT_SOCK": scene.agent.home.path("run/typo.sock"), "TOKENAGENT_AUTOSTART": "1",
            ]
            let refused = try await scene.agent.tokenctl("list", extraEnvironment: wrong)
            #expect(refused.status == 3, "\(refused)")
            #expect(refused.standardError.hasSuffix("\n  Run: unset TOKENAGENT_SOCK\n"), "\(refused)")
            let followed = try await Program.run(
                ["/bin/sh", "-c", "unset TOKENAGENT_SOCK; \"$0\" list", BuiltPrograms.client],
                environment: scene.agent.environment.merging(wrong) { $1 }
            )
            #expect(followed.status == 0 && followed.line == "work", "\(followed)")
        }

        @Test func `a socket that is open to others is not said to be closed`() async throws {
            let path = "\(try scene.agent.home.makeDirectory("shared"))/x.sock"
            let socket = """
                [[socket]]
                path = "\(path)"
                sessions = ["work"]
                mode = "0666"
                users = ["65534"]

                """
            try scene.agent.configure(socket + (File.text(scene.agent.configurationPath) ?? ""))
            try await scene.agent.start()
            let own = try await scene.agent.tokenctl("doctor")
            #expect(own.standardOutput.contains("only this user may connect"), "\(own)")
            let shared = try await scene.agent.tokenctl("doctor", extraEnvironment: ["TOKENAGENT_SOCK": path])
            #expect(shared.standardOutput.contains("other users may connect to it"), "\(shared)")
            #expect(!shared.standardOutput.contains("chmod 600"), "\(shared)")
        }

        @Test func `a variable that leads into a directory of others is to be changed`() async throws {
            try scene.agent.home.makeDirectory("open")
            try #require(chmod(scene.agent.home.path("open"), 0o777) == 0)
            let wrong = [
                "TOKENAGENT_SOCK": scene.agent.home.path("open/agent.sock"), "TOKENAGENT_AUTOSTART": "1",
            ]
            let remedy = "Set: TOKENAGENT_SOCK to a path in a directory that only you can enter"
            for command in ["list", "doctor"] {
                let refused = try await scene.agent.tokenctl(command, extraEnvironment: wrong)
                let text = refused.standardError + refused.standardOutput
                #expect(refused.status != 0 && text.lowercased().contains(remedy.lowercased()), "\(refused)")
                #expect(!text.contains("chmod"), "\(refused)")
            }
            let right = [
                "TOKENAGENT_SOCK": scene.agent.home.path("own/agent.sock"), "TOKENAGENT_AUTOSTART": "1",
            ]
            let followed = try await scene.agent.tokenctl("list", extraEnvironment: right)
            #expect(followed.status == 0, "\(followed)")
            #expect(try await scene.agent.tokenctl("shutdown", extraEnvironment: right).status == 0)
        }

        @Test(
            .holds("15"),
            arguments: ["open to others", "of another store", "old"]
                + (TestUser.isRoot ? ["of another user"] : [])
        )
        func `a lock file that leads elsewhere is not followed`(kind: String) async throws {
            try await startElsewhere()
            let lock = scene.agent.statePath + "/lock"
            let stranger = try await Scene()
            switch kind {
            case "open to others": try #require(chmod(lock, 0o666) == 0)
            case "of another user": try #require(chown(lock, 65_534, 65_534) == 0)
            case "of another store":
                try await stranger.agent.start()
                try File.write("1\n\(stranger.agent.socketPath)\n", to: lock)
            default: try File.write("1\n/nonexistent/agent.sock\n", to: lock)
            }
            let result = try await scene.agent.tokenctl("list")
            #expect(result.status == 3, "\(result)")
            try #require(
                try await Program.run([BuiltPrograms.agent, "-k"], environment: environment(nil)).status == 0
            )
        }
    }
}
