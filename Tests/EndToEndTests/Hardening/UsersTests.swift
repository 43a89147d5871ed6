// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Several users, several agents, several logins.
    @Suite struct UsersTests {
        private static let stranger = [
            "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
        ]

        private static let canBecomeStranger =
            TestUser.isRoot
            && Program.succeeds("\(stranger.joined(separator: " ")) test -x '\(BuiltPrograms.agent)'")

        /// Runs a program as the other user, in the world of `agent`.
        private func run(
            _ program: String...,
            in agent: AgentUnderTest,
            socket: String? = nil,
            input: String = ""
        ) async throws -> ProgramResult {
            var environment = agent.environment
            environment["TOKENAGENT_AUTOSTART"] = "1"
            environment["TOKENAGENT_SOCK"] = socket
            let command = Self.stranger + program
            return try await Program.run(command, environment: environment, input: input)
        }

        @Test(.enabled(if: canBecomeStranger, "only root can become somebody else"))
        func `the agents of two users never meet`() async throws {
            let mine = try await Scene.loggedIn()
            let theirs = try AgentUnderTest(configuration: Scene.session("work", mine.issuer))
            try #require(Program.succeeds("chown -R 65534:65534 '\(theirs.home.path)'"))
            let login = try await run(
                BuiltPrograms.client,
                "login",
                "work",
                "--username",
                "bob",
                "--password-stdin",
                in: theirs,
                input: "bob-password\n"
            )
            try #require(login.status == 0, "\(login.standardError)")
            let token = try await mine.token()
            let other = try await run(BuiltPrograms.client, "get", "work", in: theirs).line
            #expect(other != token && !other.isEmpty)
            #expect(try await mine.isAccepted(token))
            #expect(try await mine.isAccepted(other))
            // Neither reaches the other's agent, whatever it is told.
            let socket = mine.agent.socketPath
            let across = try await run(BuiltPrograms.client, "get", "work", in: theirs, socket: socket)
            #expect(across.status != 0 && across.standardOutput.isEmpty)
            let back = try await mine.agent.tokenctl("get", "work", "--socket", theirs.socketPath)
            #expect(back.status == 8 && back.standardOutput.isEmpty, "\(back)")
            // Neither takes over the other's store.
            let store = mine.agent.statePath
            let taken = try await run(
                BuiltPrograms.agent,
                "--foreground",
                "--state-dir",
                store,
                "-a",
                theirs.home.path("run/second.sock"),
                in: theirs
            )
            #expect(taken.status != 0 && taken.complainsInOneLine, "\(taken)")
            #expect(try await run(BuiltPrograms.agent, "-k", in: theirs).status == 0)
            let given = try await Program.run(
                [BuiltPrograms.agent, "--foreground", "--state-dir", theirs.statePath, "-a", socket + "2"],
                environment: mine.agent.environment
            )
            #expect(given.status != 0 && given.complainsInOneLine, "\(given)")
            #expect(try await mine.token() == token)
        }

        @Test(.enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs"))
        func `directories above that one may pass through and not list, such as home, are enough`()
            async throws
        {
            let above = try TemporaryDirectory()
            try #require(Program.succeeds("chmod 0711 '\(above.path)'"))
            // Configuration, store and socket all lie below it.
            let scene = try await ForeignScene.ready(in: above.path)
            #expect(try await scene.shell("ls '\(above.path)'").status != 0)
            try await scene.logIn()
            #expect(try await scene.shell("tokenctl get work").status == 0)
            #expect(try await scene.shell("tokenctl shutdown").status == 0)
            #expect(try await scene.program.finish().status == 0)
            // With new directories, and in the background.
            let start = """
                umask 077
                eval "$(tokenagent -a "$HOME/new/run/agent.sock" --state-dir "$HOME/new/state")" || exit 1
                tokenctl list || exit 2
                tokenagent -k
                """
            let second = try await scene.shell(start)
            #expect(second.status == 0 && second.standardOutput.contains("work"), "\(second)")
        }

        @Test func `a login while an old refresh is in flight is what stays`() async throws {
            let scene = try await Scene.loggedIn({ $0.rotation = .strict }, session: "revokes = \"token\"")
            scene.issuer.queue(Disturbance(isHeld: true, grantType: "refresh_token"))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            try await scene.logIn()
            let token = try await scene.token()
            // The old refresh is answered with the login's token, before its own answer comes.
            #expect(try await refresh.finish().status == 0)
            let revocations = scene.issuer.requests(to: "/revoke").count
            // What the late answer brings is given back; a request is counted a moment before it is held.
            let isRevoked = try await Polling.until {
                scene.issuer.release()
                return scene.issuer.requests(to: "/revoke").count > revocations
            }
            #expect(isRevoked)
            #expect(try await scene.token() == token)
            #expect(try await scene.isAccepted(token))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.isAccepted(scene.token()))
        }
    }
}
