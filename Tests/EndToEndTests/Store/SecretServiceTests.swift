// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    private static let isMissing: Comment = "dbus-daemon, gnome-keyring or secret-tool is not installed"
    private static let hasKeyring = Program.succeeds(
        "command -v dbus-daemon && command -v gnome-keyring-daemon && command -v secret-tool"
    )

    /// A store opened by a secret of the desktop's keyring, in each state the keyring can be in.
    @Suite(.full, .enabled(if: hasKeyring, isMissing), .serialized) struct SecretServiceTests {
        private static let command = ["secret-tool", "lookup", "application", "tokenagent"]

        /// The bus of a desktop session with its keyring.
        private struct Desktop {
            let scene: Scene
            let bus: Program

            init(_ scene: Scene) async throws {
                self.scene = scene
                let path = scene.agent.home.path("bus")
                let command = ["dbus-daemon", "--session", "--nofork", "--address=unix:path=\(path)"]
                bus = try Program(command, environment: scene.agent.environment)
                try #require(try await Polling.until { File.exists(path) })
            }

            var environment: [String: String] {
                let address = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(scene.agent.home.path("bus"))"]
                return scene.agent.environment.merging(address) { _, new in new }
            }

            /// Starts the keyring and waits until it is on the bus; with a password, its collection is unlocked.
            func keyring(password: String?) async throws -> Program {
                let unlocking = password == nil ? [] : ["--unlock"]
                let keyring = try Program(
                    ["gnome-keyring-daemon", "--foreground", "--components=secrets"] + unlocking,
                    environment: environment,
                    input: password ?? ""
                )
                let query = [
                    "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                    "org.freedesktop.DBus.GetNameOwner", "string:org.freedesktop.secrets",
                ]
                try #require(
                    try await Polling.until {
                        try await Program.run(query, environment: environment).status == 0
                    },
                    "\(keyring.standardError)"
                )
                return keyring
            }

            func end(_ program: Program) async throws {
                program.signal(.terminate)
                try await program.finish()
            }
        }

        @Test(.holds("51"))
        func `a keyring opens the store when it is unlocked, and else the agent says why it is locked`()
            async throws
        {
            let scene = try await Scene()
            let desktop = try await Desktop(scene)
            var keyring = try await desktop.keyring(password: "desktop password")
            let stored = try await Program.run(
                ["secret-tool", "store", "--label=tokenagent", "application", "tokenagent"],
                environment: desktop.environment,
                input: "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"
            )
            try #require(stored.status == 0, "\(stored.standardError)")
            try scene.agent.configure(unlockCommand: Self.command)
            try await scene.agent.start(extraEnvironment: desktop.environment)
            let words = Self.command.map { "\"\($0)\"" }.joined(separator: ",")
            let body = #"{"type":"command","command":[\#(words)]}"#
            let made = try await scene.agent.changeVault("POST", "init", body)
            try #require(made.status == 200, "\(made.text)")
            try await scene.logIn()
            let token = try await scene.token()
            #expect(try await scene.agent.end() == 0)

            // The keyring is unlocked, so no user is needed.
            try await scene.agent.start(extraEnvironment: desktop.environment)
            #expect(try await scene.token() == token)
            #expect(try await scene.agent.end() == 0)

            // Locked, and nobody there to answer its prompt.
            try await desktop.end(keyring)
            keyring = try await desktop.keyring(password: nil)
            try await scene.agent.start(extraEnvironment: desktop.environment)
            try await expectLocked(scene)
            try await desktop.end(keyring)
            // If the user unlocks the keyring later, it opens the store without a restart.
            keyring = try await desktop.keyring(password: "desktop password")
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token() == token)
            #expect(try await scene.agent.end() == 0)
            try await desktop.end(keyring)
        }

        @Test(.holds("51")) func `without a keyring, or without a bus, the agent is locked and says why`()
            async throws
        {
            let scene = try await Scene()
            try scene.agent.home.write(
                "#!/bin/sh\necho \(String(repeating: "k", count: 40))\n",
                to: "unlock",
                mode: 0o700
            )
            try scene.agent.configure(unlockCommand: [scene.agent.home.path("unlock")])
            // The command of the slot asks the keyring only from the second start on.
            try await scene.agent.start()
            let body = #"{"type":"command","command":["\#(scene.agent.home.path("unlock"))"]}"#
            try #require(
                try await scene.agent.changeVault("POST", "init", body).status == 200
            )
            try await scene.logIn()
            #expect(try await scene.agent.end() == 0)
            let lookup = "#!/bin/sh\nexec \(Self.command.joined(separator: " "))\n"
            try scene.agent.home.write(lookup, to: "lookup", mode: 0o700)
            #expect(try await scene.agent.shell("mv -f \"$HOME/lookup\" \"$HOME/unlock\"").status == 0)

            // A bus whose only service is itself.
            let bus = scene.agent.home.path("bare")
            let configuration = """
                <busconfig><type>session</type><listen>unix:path=\(bus)</listen>
                <policy context="default"><allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
                """
            let file = try scene.agent.home.write(configuration, to: "bus.conf")
            let daemon = try Program(
                ["dbus-daemon", "--nofork", "--config-file=\(file)"],
                environment: scene.agent.environment
            )
            try #require(try await Polling.until { File.exists(bus) }, "\(daemon.standardError)")
            for address in ["unix:path=\(bus)", "unix:path=\(bus).gone", ""] {
                try await scene.agent.start(extraEnvironment: ["DBUS_SESSION_BUS_ADDRESS": address])
                try await expectLocked(scene)
                #expect(try await scene.agent.end() == 0)
            }
        }

        private func expectLocked(
            _ scene: Scene,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            #expect(try await scene.agent.tokenctl("get", "work").status == 6, sourceLocation: sourceLocation)
            #expect(
                scene.agent.log.contains("automatic unlock failed"),
                "\(scene.agent.log)",
                sourceLocation: sourceLocation
            )
        }
    }
}
