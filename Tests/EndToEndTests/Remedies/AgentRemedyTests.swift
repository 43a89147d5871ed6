// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Remedies for an agent that refuses, or does not respond.
    @Suite(.full) struct AgentRemedyTests {
        private static let shared = """
            [[socket]]
            path = "HOME/shared.sock"
            sessions = ["work"]

            """

        /// A session whose client secret the program HOME/secret prints.
        private static func withProgram(_ scene: Scene) -> String {
            Scene.session(
                "work",
                scene.issuer,
                client: "demo-confidential",
                more: "client_secret_command = [\"\(scene.agent.home.path("secret"))\"]"
            )
        }

        /// Logs in, and has the agent start with a program that does as `line` says.
        private static func breakProgram(_ line: String) -> @Sendable (Scene) async throws -> Void {
            { scene in
                let repaired = "#!/bin/sh\necho demo-secret-7f3a\n"
                try scene.agent.home.write(repaired, to: "repaired", mode: 0o700)
                try scene.agent.home.write(repaired, to: "secret", mode: 0o700)
                try await scene.logIn()
                try await scene.agent.end()
                try scene.agent.home.write("#!/bin/sh\n\(line)\n", to: "secret", mode: 0o700)
                try await scene.agent.start()
                #expect(try await scene.agent.tokenctl("refresh", "work").status != 0)
            }
        }

        private static let ofPrograms: [RemedyCase] = [
            RemedyCase(
                name: "the program of a client secret does not work",
                remedy: "tokenctl refresh work",
                arguments: ["doctor"],
                then: nil,
                configuration: withProgram,
                prepare: breakProgram("exit 3"),
                followed: .shell("cp repaired secret && tokenctl refresh work")
            ),
            RemedyCase(
                name: "the program of a client secret says that a PIN is wrong",
                remedy: "the password or PIN that client_secret_command uses, then run tokenctl refresh work",
                arguments: ["refresh", "work"],
                configuration: withProgram,
                prepare: breakProgram("echo 'wrong PIN' >&2; exit 1"),
                followed: .shell("cp repaired secret && tokenctl refresh work")
            ),
        ]

        private static let ofSockets: [RemedyCase] = [
            RemedyCase(
                name: "a scope that a socket does not give out",
                remedy: "api in scopes of this [[socket]], then run tokenctl reload",
                arguments: ["get", "work", "--scope", "api"],
                socket: "shared.sock",
                configuration: { $0.filled(shared) + Scene.session("work", $0.issuer) },
                prepare: { try await $0.logIn() },
                followed: .configuration { text, _ in
                    text.replacing("sessions = [\"work\"]", with: "sessions = [\"work\"]\nscopes = [\"api\"]")
                }
            ),
            RemedyCase(
                name: "a socket that gives out tokens alone",
                remedy: "on the agent's own host",
                arguments: ["lock"],
                then: nil,
                isRepeated: true,
                socket: "shared.sock",
                configuration: { $0.filled(shared) + Scene.session("work", $0.issuer) },
                followed: .shell("tokenctl lock")
            ),
            RemedyCase(
                name: "a session that a socket does not have",
                remedy: "tokenctl list",
                arguments: ["get", "nosuch"],
                again: ["get", "work"],
                socket: "shared.sock",
                configuration: { $0.filled(shared) + Scene.session("work", $0.issuer) },
                prepare: { try await $0.logIn() },
                followed: .shell("tokenctl list --socket HOME/shared.sock | grep work")
            ),
            RemedyCase(
                name: "a socket in a place where there can be none",
                remedy: "path of the [[socket]], then run tokenctl reload",
                arguments: ["doctor"],
                then: nil,
                configuration: {
                    $0.filled(shared).replacing("shared.sock", with: "taken/x.sock")
                        + Scene.session("work", $0.issuer)
                },
                prepare: { scene in
                    try await scene.agent.end()
                    try scene.agent.home.makeDirectory("taken")
                    try scene.agent.home.write("", to: "taken/x.sock")
                    try await scene.agent.start()
                },
                followed: .shell(
                    "sed -i 's|taken/x.sock|taken/y.sock|' config/tokenagent/config.toml && tokenctl reload"
                )
            ),
            RemedyCase(
                name: "a socket that others may connect to",
                remedy: "chmod 600",
                arguments: ["doctor"],
                then: nil,
                prepare: { scene in #expect(chmod(scene.agent.socketPath, 0o666) == 0) },
                followed: .command()
            ),
        ]

        private static func file(_ path: String) -> @Sendable (Scene) -> String? {
            { scene in
                scene.filled("[[file]]\npath = \"\(path)\"\nsession = \"work\"\n")
                    + Scene.session("work", scene.issuer)
            }
        }

        /// Logs in, and names a file in a directory that came after the agent's start.
        private static func addLateFile(_ scene: Scene) async throws {
            try await scene.logIn()
            try scene.agent.home.makeDirectory("late")
            try scene.agent.configure(file("HOME/late/token")(scene) ?? "")
            #expect(try await scene.agent.tokenctl("reload").status == 1)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        /// A command that waits for the token in `file`, which the agent writes as soon as it can.
        private static func written(_ file: String) -> String {
            "timeout 20 sh -c 'until grep -qs . \(file); do sleep 0.1; done'"
        }

        private static let ofFiles: [RemedyCase] = [
            RemedyCase(
                name: "a configuration that a link leads out of the sandbox",
                remedy: "tokenctl shutdown && tokenagent",
                arguments: ["reload"],
                prepare: { scene in
                    let moved = """
                        mkdir -m 700 elsewhere && cp config/tokenagent/config.toml elsewhere/ && \
                        ln -sf "$PWD/elsewhere/config.toml" config/tokenagent/config.toml
                        """
                    try #require(try await scene.paste(moved).status == 0)
                },
                followed: .shell("tokenctl shutdown && tokenagent")
            ),
            RemedyCase(
                name: "a change that needs a restart",
                remedy: "tokenctl shutdown && tokenagent",
                arguments: ["doctor"],
                then: nil,
                prepare: addLateFile,
                followed: .shell("tokenctl shutdown && tokenagent && \(written("late/token"))")
            ),
            RemedyCase(
                name: "a token file in a directory that came after the start",
                remedy: "tokenctl shutdown && tokenagent",
                arguments: ["doctor"],
                then: nil,
                prepare: addLateFile,
                followed: .shell("tokenagent -k && tokenagent && \(written("late/token"))")
            ),
            RemedyCase(
                name: "a token file where there is a directory",
                remedy: "path or format of the [[file]], then run tokenctl reload",
                arguments: ["doctor"],
                then: nil,
                configuration: file("HOME/tokens/work"),
                prepare: { scene in
                    try scene.agent.home.makeDirectory("tokens/work")
                    try scene.agent.home.write("", to: "tokens/work/other")
                    try await scene.logIn()
                },
                followed: .shell("rm -r tokens/work && tokenctl refresh work && \(written("tokens/work"))")
            ),
        ]

        private static let ofSessions: [RemedyCase] = [
            RemedyCase(
                name: "a session that there is not",
                remedy: "tokenctl add nosuch",
                arguments: ["get", "nosuch"],
                then: 4,
                followed: .command(more: "--issuer ISSUER --client-id demo-public --flow password")
            ),
            RemedyCase(
                name: "the address of an issuer where a session is meant",
                remedy: "tokenctl list --json",
                arguments: ["get", "https://id.example/x"],
                then: nil,
                isRepeated: true,
                followed: .command()
            ),
            RemedyCase(
                name: "a client whose secret is missing",
                remedy:
                    "client_id and client secret of [session.work] as registered, then run tokenctl login work",
                arguments: ["login", "work"] + Scene.password.more.split(separator: " ").map(String.init),
                input: Scene.password.input,
                configuration: {
                    Scene.session("work", $0.issuer).replacing("demo-public", with: "demo-confidential")
                },
                followed: .configuration(
                    { text, _ in
                        text.replacing(
                            "client_id =",
                            with: "client_secret = \"demo-secret-7f3a\"\nclient_id ="
                        )
                    },
                    more: Scene.password.more,
                    input: Scene.password.input
                )
            ),
            RemedyCase(
                name: "a scope that the login does not have",
                remedy: "tokenctl login work --scope 'email'",
                arguments: ["get", "work", "--scope", "email"],
                prepare: { try await $0.logIn() },
                followed: .command(more: Scene.password.more, input: Scene.password.input)
            ),
            RemedyCase(
                name: "a server without a token endpoint",
                remedy: "[session.work] as its server requires, then run tokenctl login work",
                arguments: ["login", "work"] + Scene.password.more.split(separator: " ").map(String.init),
                input: Scene.password.input,
                issuer: { $0.metadata["token_endpoint"] = .null },
                followed: .configuration(
                    { text, _ in
                        text.replacing("kind = \"oidc\"", with: "kind = \"oauth2\"")
                            .replacing("issuer =", with: "token_endpoint = \"ISSUER/token\"\n# issuer =")
                            .replacing("\"openid\", ", with: "")
                    },
                    more: Scene.password.more,
                    input: Scene.password.input
                )
            ),
        ]

        @Test(arguments: ofPrograms + ofSockets + ofFiles + ofSessions)
        func `what the agent says about a refusal helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }

        @Test(arguments: [
            (
                "TOKENAGENT_SOCK=/$(printf '%0120d' 0) ", "TOKENAGENT_SOCK to a shorter path",
                "SOCK=/tmp/x"
            ),
            (
                "HOME=$(printf '/tmp/\\377') XDG_CONFIG_HOME= XDG_STATE_HOME= XDG_RUNTIME_DIR= ",
                "TOKENAGENT_CONFIG and TOKENAGENT_STATE_DIR to paths in UTF-8",
                "CONFIG=/tmp/x TOKENAGENT_STATE_DIR=/tmp/x"
            ),
            (
                "TOKENAGENT_STATE_DIR=$(printf '/tmp/\\377') XDG_RUNTIME_DIR= ",
                "TOKENAGENT_STATE_DIR to a path in UTF-8",
                "STATE_DIR=/tmp/x"
            ),
            (
                "HOME= XDG_STATE_HOME= XDG_RUNTIME_DIR= ", "HOME or TOKENAGENT_STATE_DIR",
                "STATE_DIR=/tmp/x"
            ),
        ])
        func `a variable is set as it is said`(state: String, remedy: String, set: String) async throws {
            let agent = try AgentUnderTest()
            let before = try await agent.shell("\(state) tokenctl status")
            #expect(before.status == 2 && PrintedRemedy(before, holding: remedy) != nil, "\(before)")
            // No agent is there, and nothing else is wrong.
            let after = try await agent.shell("\(state) TOKENAGENT_\(set) tokenctl status")
            #expect(after.status == 3, "\(after)")
        }

        @Test func `an agent with another store than the shell's is named, and replaced as it is said`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let other = "XDG_STATE_HOME=$HOME/other; export XDG_STATE_HOME;"
            let before = try await scene.paste("\(other) tokenctl doctor")
            let remedy = try #require(PrintedRemedy(before, holding: "keeps its sessions in"), "\(before)")
            #expect(
                try await !scene.paste("tokenctl doctor").standardOutput.contains("keeps its sessions in")
            )
            let command = try #require(remedy.command)
            let after = try await scene.paste("\(other) \(command) && tokenctl doctor; tokenagent -k")
            #expect(!after.standardOutput.contains("keeps its sessions in"), "\(after)")
        }

        /// A token in hand, and the agent stopped by `signal` in the background.
        private func stopped() async throws -> (scene: Scene, token: String, pid: pid_t) {
            let scene = try await Scene()
            #expect(try await scene.paste("tokenagent").status == 0)
            try await scene.logIn()
            let pid = try #require(SocketOwner.pid(scene.agent.socketPath))
            let token = try await scene.token()
            kill(pid, SIGSTOP)
            return (scene, token, pid)
        }

        @Test func `an agent that does not respond is ended as it is said, and started again`() async throws {
            let (scene, token, pid) = try await stopped()
            let silent = try await scene.agent.tokenctl("status")
            let first = try #require(PrintedRemedy(silent, holding: "tokenctl doctor"), "\(silent)")
            let doctor = try await scene.paste(try #require(first.command))
            let second = try #require(PrintedRemedy(doctor, holding: "tokenagent -k"), "\(doctor)")
            #expect(second.text == "tokenagent -k && tokenagent")
            let ended = try await scene.paste("tokenagent -k")
            #expect(ended.status == 0 && ended.standardError.contains("process \(pid),"), "\(ended)")
            #expect(try await scene.paste("tokenagent").status == 0)
            #expect(try await scene.token() == token)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `an agent that cannot stop any more is killed`() async throws {
            let (scene, token, pid) = try await stopped()
            // Each time it is made to go on, it is stopped again.
            let watch = Watch { [kill(pid, SIGSTOP)] }
            let ended = try await scene.paste("tokenagent -k")
            _ = await watch.stop()
            #expect(ended.status == 0, "\(ended)")
            #expect(try await scene.paste("tokenagent").status == 0)
            #expect(try await scene.token() == token)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `an agent of another socket is left alone`() async throws {
            let (scene, _, pid) = try await stopped()
            let other = try await scene.paste("TOKENAGENT_SOCK=\"$PWD/other.sock\" tokenagent -k")
            #expect(other.status == 3, "\(other)")
            #expect(kill(pid, SIGCONT) == 0)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `a store that another agent uses is free once that one is stopped`() async throws {
            let scene = try await Scene.loggedIn()
            let elsewhere = scene.agent.home.path("other.sock")
            let refused = try await scene.paste("tokenagent --foreground -a '\(elsewhere)'")
            let remedy = try #require(PrintedRemedy(refused, holding: "tokenagent -k"), "\(refused)")
            try await scene.follow(remedy, .command())
            #expect(try await scene.paste("tokenagent -a '\(elsewhere)'").status == 0)
            let token = try await scene.paste("TOKENAGENT_SOCK='\(elsewhere)' tokenctl get work")
            #expect(token.status == 0, "\(token)")
            _ = try await scene.paste("TOKENAGENT_SOCK='\(elsewhere)' tokenagent -k")
        }

        @Test func `an agent of another store gets a socket of its own`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let other = "tokenagent --state-dir '\(scene.agent.home.path("other"))'"
            let refused = try await scene.paste(other)
            let remedy = try #require(PrintedRemedy(refused, holding: "-a to another socket"), "\(refused)")
            #expect(remedy.text == "-a to another socket")
            let socket = scene.agent.home.path("other.sock")
            #expect(try await scene.paste("\(other) -a '\(socket)'").status == 0)
            #expect(try await scene.paste("TOKENAGENT_SOCK='\(socket)' tokenagent -k").status == 0)
        }

        @Test func `a login whose scopes the server rejects is made with others`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            scene.issuer.queue(.failure("invalid_scope"))
            let arguments = ["login", "work", "--username", "alice", "--password-stdin"]
            let refused = try await scene.agent.tokenctl(arguments, input: "alice-password\n")
            #expect(refused.status == 2, "\(refused)")
            #expect(PrintedRemedy(refused, holding: "Set: scopes of [session.work]") != nil, "\(refused)")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing(", \"api\"", with: ""))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            try await scene.logIn()
        }

        @Test func `a login that another one has overtaken leaves that one, which status shows`() async throws
        {
            let scene = try await Scene { $0.approvesDevices = false }
            try await scene.agent.start()
            let slow = try scene.agent.startTokenctl(["login", "work", "--flow", "device", "--no-browser"])
            #expect(await scene.issuer.hasReceived(1, to: "/device_authorization", within: .seconds(60)))
            try await scene.logIn()
            let overtaken = try await slow.finish()
            #expect(overtaken.status == 8 && PrintedRemedy(overtaken, holding: "login work") == nil)
            let remedy = PrintedRemedy(overtaken, holding: "See: tokenctl status work")
            #expect(remedy != nil, "\(overtaken)")
            let status = try await scene.agent.tokenctl("status", "work")
            #expect(status.status == 0 && status.standardOutput.contains("ready"), "\(status)")
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }

        @Test func `a server that is busy is asked again when it is said`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(.failure("temporarily_unavailable", status: 503))
            let busy = try await scene.agent.tokenctl("refresh", "work")
            #expect(busy.status == 5 && PrintedRemedy(busy, holding: "Retry: in ") != nil, "\(busy)")
            #expect(try await scene.refreshesAgain())
        }
    }
}
