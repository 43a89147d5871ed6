// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Messages for a host that is set up incorrectly, or that cannot do what the user requests.
    @Suite(.full) struct FleetMistakeTests {
        private let agent: AgentUnderTest
        private var key: String { agent.home.path("fleet.key") }

        init() throws {
            agent = try AgentUnderTest()
        }

        /// Starts the agent of a host at an etcd, by default one that is not there.
        private func start(
            role: String = "keeper",
            key: String,
            endpoint: String = "http://127.0.0.1:1",
            more: String = ""
        ) async throws {
            try agent.configure(
                """
                [fleet]
                name = "team"
                role = "\(role)"
                endpoints = ["\(endpoint)"]
                \(key)
                \(more)

                [session.work]
                kind = "oidc"
                issuer = "https://id.example.com"
                client_id = "client"
                fleet = true

                """
            )
            try await agent.start()
        }

        private func makeKeys() async throws {
            let made = try await agent.tokenctl("fleet", "init", "--name", "team", "--key-file", key)
            try #require(made.status == 0, "\(made)")
        }

        @Test(
            arguments: [
                (
                    "keeper", "KEY.none", "KEY.none cannot be used: it does not exist",
                    "the key file for this host's role"
                ),
                (
                    "keeper", "KEY.empty", "KEY.empty cannot be used: it is empty",
                    "the key file for this host's role"
                ),
                (
                    "reader", "KEY", "KEY is the keepers' key",
                    "the readers' file, which ends in .reader, on this host"
                ),
                ("keeper", "KEY.reader", "KEY.reader is the readers' key", "the keepers' file on this host"),
                ("keeper", "KEY.open", "KEY.open cannot be used: its mode 644", "user with mode 600"),
            ]
        )
        func `a key file that is not the right one is named with a remedy`(
            role: String,
            file: String,
            sentence: String,
            remedy: String
        ) async throws {
            try await makeKeys()
            try agent.home.write("text", to: "fleet.key.open", mode: 0o644)
            try agent.home.write("", to: "fleet.key.empty")
            func text(_ text: String) -> String { text.replacing("KEY", with: key) }
            try await start(role: role, key: "fleet_key_file = \"\(text(file))\"")
            let status = try await agent.tokenctl("fleet", "status")
            #expect(status.status == 5, "\(status)")
            #expect(status.standardError.contains(text(sentence)), "\(status)")
            #expect(status.standardError.contains(remedy), "\(status)")
            // The fleet would never get this login or logout.
            for command in role == "keeper" ? ["login", "logout"] : [] {
                let refused = try await agent.tokenctl(command, "work")
                #expect(refused.status == 2, "\(refused)")
                #expect(refused.standardError.contains(text(sentence)), "\(refused)")
            }
            if role == "keeper" {
                let after = try await agent.tokenctl("get", "work")
                #expect(after.standardError.contains("tokenctl fleet join work"), "\(after)")
            }
            #expect(try await agent.tokenctl("logout", "work", "--local").status == 0)
            try await agent.end()
        }

        @Test(arguments: ["ca_file", "certificate_file", "certificate_key_file"])
        func `a certificate or key that is not there is named by its setting`(setting: String) async throws {
            try await makeKeys()
            var files = ["ca_file", "certificate_file", "certificate_key_file"].map { name in
                "\(name) = \"\(agent.home.path(name))\""
            }
            if setting == "ca_file" { files.removeLast(2) }
            for name in ["ca_file", "certificate_file"] where name != setting {
                try agent.home.write("", to: name)
            }
            let lines = files.joined(separator: "\n")
            try await start(key: "fleet_key_file = \"\(key)\"", endpoint: "https://127.0.0.1:1", more: lines)
            let status = try await agent.tokenctl("fleet", "status")
            #expect(status.status == 5, "\(status)")
            let path = agent.home.path(setting)
            #expect(status.standardError.contains("fleet.\(setting): \(path): No such file"), "\(status)")
            #expect(status.standardError.contains("Set: fleet.\(setting) to"), "\(status)")
            try await agent.end()
        }

        @Test func `a command that prints no key is named by its setting`() async throws {
            try await start(key: #"fleet_key_command = ["/bin/echo", "text"]"#)
            let status = try await agent.tokenctl("fleet", "status")
            let sentence = "the output of fleet.fleet_key_command is not the key of a fleet"
            #expect(status.standardError.contains(sentence), "\(status)")
            try await agent.end()
        }

        @Test(arguments: [
            (
                "password_file = \"PASSWORD.none\"", "PASSWORD.none: No such file",
                "fleet.password_file to an existing file"
            ),
            ("password_file = \"PASSWORD\"", "PASSWORD: is readable by other users", "chmod 600 PASSWORD"),
            (#"password_command = ["/bin/false"]"#, "/bin/false: exit status 1", "to a command that works"),
            (#"password_command = ["/bin/none"]"#, "cannot run /bin/none", "to a command that works"),
        ])
        func `a password that this host cannot get is no word of etcd's`(
            setting: String,
            sentence: String,
            remedy: String
        ) async throws {
            let password = try agent.home.write("secret", to: "password", mode: 0o644)
            func text(_ text: String) -> String { text.replacing("PASSWORD", with: password) }
            try await makeKeys()
            let user = "user = \"host\"\n" + text(setting)
            try await start(key: "fleet_key_file = \"\(key)\"", more: user)
            let status = try await agent.tokenctl("fleet", "status")
            #expect(status.status == 5, "\(status)")
            #expect(status.standardError.contains(text(sentence)), "\(status)")
            #expect(status.standardError.contains(text(remedy)), "\(status)")
            #expect(!status.standardError.contains("response from etcd"), "\(status)")
            try await agent.end()
        }

        @Test(arguments: ["", "\n", "\r\n"])
        func `a line end is no part of the password`(end: String) async throws {
            let etcd = try StreamingServer { _, peer in peer.answer(401) }
            let password = try agent.home.write("secret" + end, to: "password", mode: 0o600)
            try await makeKeys()
            try await start(
                key: "fleet_key_file = \"\(key)\"",
                endpoint: "http://127.0.0.1:\(etcd.port)",
                more: "user = \"host\"\npassword_file = \"\(password)\""
            )
            #expect(try await Polling.until { !etcd.requests.isEmpty })
            #expect(etcd.requests.first?.json?["password"]?.string == "secret")
            let status = try await agent.tokenctl("fleet", "status")
            #expect(status.standardOutput.contains("http://127.0.0.1:\(etcd.port)  refused"), "\(status)")
            try await agent.end()
        }

        @Test func `a reader does not say that it has logged all hosts out`() async throws {
            try await makeKeys()
            try await start(role: "reader", key: "fleet_key_file = \"\(key).reader\"")
            let all = try await agent.tokenctl("logout", "work", "--all-hosts")
            #expect(all.status == 2, "\(all)")
            #expect(all.standardError.contains("at a host with role = \"keeper\""), "\(all)")
            #expect(try await agent.tokenctl("logout", "work").status == 0)
            try await agent.end()
        }

        @Test func `while etcd is away nothing is said of what it has`() async throws {
            try await makeKeys()
            try await start(key: "fleet_key_file = \"\(key)\"")
            let status = try await agent.tokenctl("fleet", "status")
            #expect(status.status == 5, "\(status)")
            #expect(status.standardError.contains("nothing is listening at its port"), "\(status)")
            #expect(status.standardOutput.contains("unknown"), "\(status)")
            // The member is named.
            #expect(status.standardOutput.contains("http://127.0.0.1:1  away"), "\(status)")
            let doctor = try await agent.tokenctl("doctor").standardOutput
            #expect(doctor.contains("http://127.0.0.1:1: "), "\(doctor)")
            // This host has no login that other hosts would have to log out from.
            for option in ["--json", "--all-hosts"] {
                let logout = try await agent.tokenctl("logout", "work", option)
                #expect(logout.status == 5, "\(logout)")
            }
            #expect(try await agent.tokenctl("logout", "work", "--local").status == 0)
            try await agent.end()
        }

        @Test(.enabled(if: FleetScene.etcd.isAvailable), arguments: ["keeper", "reader"])
        func `a host that may only read is broken unless it is a reader`(role: String) async throws {
            try await FleetScene.etcd.whileRunning(["--auth"]) { work, state in
                let endpoint = try #require(state["endpoints"]?.array?.first?.string)
                let password = try agent.home.write("reader-password-1", to: "password", mode: 0o600)
                try await makeKeys()
                try await start(
                    role: role,
                    key: "fleet_key_file = \"\(key)\(role == "reader" ? ".reader" : "")\"",
                    endpoint: endpoint,
                    more: "user = \"reader\"\npassword_file = \"\(password)\""
                )
                let found = try await agent.tokenctl("doctor").standardOutput
                let isOrdinary = found.contains("role reader with read-only access to etcd")
                #expect(isOrdinary == (role == "reader"), "\(found)")
                let remedy = #/grant-permission ROLE readwrite --prefix=true /tokenagent/[0-9a-f]{32}//#
                #expect(found.contains(remedy) == (role == "keeper"), "\(found)")
                // The error is visible before a refresh is due.
                let status = try await agent.tokenctl("fleet", "status")
                #expect(status.standardError.contains(remedy) == (role == "keeper"), "\(status)")
                let isLogged = agent.log.contains("fleet: write access to etcd denied")
                #expect(isLogged == (role == "keeper"), "\(agent.log)")
                // This host has never been in the list of hosts.
                let left = try await agent.tokenctl("fleet", "leave")
                #expect(left.status == 0 && !left.standardOutput.contains("list of hosts"), "\(left)")
                try await agent.end()
            }
        }
    }
}
