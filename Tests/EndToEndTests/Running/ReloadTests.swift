// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A configuration that has changed is taken over, or mentioned.
    @Suite struct ReloadTests {
        private func add(_ name: String, to scene: Scene) throws {
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + Scene.session(name, scene.issuer))
        }

        @Test func `a session that was just written can be logged in to`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try add("z", to: scene)
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("get", "z").status == 0)
        }

        @Test func `doctor and config check name what differs, and reload takes it over`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let same = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(
                same.contains("ok       configuration: the agent uses \(scene.agent.configurationPath)")
            )
            try add("z", to: scene)
            let doctor = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(doctor.contains("warning  configuration: not reloaded: "), "\(doctor)")
            #expect(doctor.contains("added session.z (run: tokenctl reload)"), "\(doctor)")
            let check = try await scene.agent.tokenctl("config", "check")
            #expect(check.status == 0)
            #expect(check.standardOutput.contains("added    session.z"), "\(check)")
            let json = try await scene.agent.tokenctl("config", "check", "--json")
            let report = try #require(try JSONValue(parsing: json.standardOutput.utf8).object)
            #expect(report["agent"]?.array?.compactMap(\.string) == ["added    session.z"])
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 0)
            #expect(
                reload.standardOutput
                    == "\(scene.agent.configurationPath): 2 sessions\nadded    session.z\n"
            )
            let again = try await scene.agent.tokenctl("reload").standardOutput
            #expect(again == "\(scene.agent.configurationPath): 2 sessions, no changes\n")
            let settled = try await scene.agent.tokenctl("config", "check").standardOutput
            #expect(!settled.contains("session.z"))
        }

        @Test func `the doctor names the file of a client secret that others can read`() async throws {
            let scene = try await Scene()
            try scene.agent.home.write("s3cret", to: "secret", mode: 0o644)
            let file = scene.agent.home.path("secret")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                text + "[session.z]\nissuer = \"\(scene.issuer.issuer)\"\nclient_id = \"c\"\n"
                    + "client_secret_file = \"\(file)\"\n"
            )
            try await scene.agent.start()
            let open = try await scene.agent.tokenctl("doctor").standardOutput
            let finding =
                "session.z.client_secret_file: \(file): is readable by other users (run: chmod 600 \(file))\n"
            #expect(open.contains("warning  configuration: \(finding)"), "\(open)")
            try #require(try await scene.agent.shell("chmod 600 '\(file)'").status == 0)
            let closed = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(!closed.contains("client_secret_file"), "\(closed)")
        }

        @Test func `a mistake changes nothing and is named`() async throws {
            let scene = try await Scene.loggedIn()
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "[session.z]\nkind = \"oidd\"\n")
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 2)
            #expect(reload.standardError.contains("session.z.kind"), "\(reload.standardError)")
            let absent = try await scene.agent.tokenctl("get", "z")
            #expect(absent.status == 7)
            #expect(absent.standardError.contains("tokenctl config check"), "\(absent.standardError)")
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.standardOutput.contains("problem  configuration: the file is invalid"))
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `doctor names a mistake also where no agent runs`() async throws {
            let scene = try await Scene()
            let good = try await scene.agent.tokenctl("doctor")
            #expect(good.standardOutput.contains("ok       configuration: \(scene.agent.configurationPath)"))
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "[session.z]\nkind = \"oidd\"\n")
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.status == 1)
            let place = "problem  configuration: \(scene.agent.configurationPath):"
            #expect(doctor.standardOutput.contains(place), "\(doctor)")
            #expect(doctor.standardOutput.contains("session.z.kind"))
        }

        @Test(arguments: [
            ("[vault]\nrequire_locked_memory = false\nkeyfile = \"/none/key\"\n", "vault.keyfile"),
            (
                "[fleet]\nname = \"f\"\nendpoints = [\"https://127.0.0.1:1\"]\nfleet_key_file = \"/none/key\"\n",
                "fleet"
            ),
        ])
        func `what is read at the start alone is said to need a restart until there is one`(
            table: String,
            key: String
        ) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(table + text)
            for _ in 0..<2 {
                let reload = try await scene.agent.tokenctl("reload")
                #expect(
                    reload.standardOutput.contains("requires a restart of the agent: \(key): "),
                    "\(reload)"
                )
                #expect(reload.status == 1)
                #expect(
                    reload.standardError.contains(
                        "only after a restart of the agent\n  Run: tokenctl shutdown\n"
                    ),
                    "\(reload)"
                )
            }
            #expect(
                try await scene.agent.tokenctl("doctor").standardOutput.contains(
                    "warning  configuration: \(key)"
                )
            )
        }

        @Test func `another authority takes effect at a reload`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            let file = try scene.agent.home.write(authority.certificatePEM, to: "config/tokenagent/ca.pem")
            try await scene.agent.start()
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.standardOutput.contains("problem  server \(scene.issuer.issuer): "), "\(doctor)")
            #expect(doctor.standardOutput.contains("ca_file"), "\(doctor)")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "ca_file = \"\(file)\"\n")
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.standardOutput.contains("changed  session.work.ca_file"), "\(reload)")
            let trusted = try await scene.agent.tokenctl("doctor").standardOutput
            #expect(
                trusted.contains(
                    "ok       server \(scene.issuer.issuer): trusted, metadata matches the issuer"
                )
            )
            try await scene.logIn()
        }

        @Test func `an authority where the agent may not read since its start is said to need a restart`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let sandbox = try await scene.agent.tokenctl("doctor").standardOutput
            guard sandbox.contains("ok       sandbox") else {
                try Test.cancel("files are not closed off here")
            }
            try scene.agent.home.makeDirectory("elsewhere")
            let file = try scene.agent.home.write(
                CertificateAuthority().certificatePEM,
                to: "elsewhere/ca.pem"
            )
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "ca_file = \"\(file)\"\n")
            let reload = try await scene.agent.tokenctl("reload").standardOutput
            #expect(reload.contains("requires a restart of the agent: session.work.ca_file: "), "\(reload)")
            #expect(scene.agent.log.contains("change requires a restart of the agent"))
        }

        @Test(
            .holds("212"),
            arguments: [
                "[[socket]]\npath = \"PLACE\"\nsessions = [\"work\"]\n",
                "[[file]]\npath = \"PLACE\"\nsession = \"work\"\n",
            ]
        )
        func `what only a restarted agent can make is named before and after a reload`(
            table: String
        ) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let sandbox = try await scene.agent.tokenctl("doctor").standardOutput
            guard sandbox.contains("ok       sandbox") else {
                try Test.cancel("files are not closed off here")
            }
            try scene.agent.home.makeDirectory("new")
            let place = scene.agent.home.path("new/place")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + table.replacing("PLACE", with: place))
            for _ in 0..<2 {
                let check = try await scene.agent.tokenctl("config", "check")
                #expect(check.status == 0, "\(check)")
                #expect(check.standardOutput.contains("requires a restart of the agent: "), "\(check)")
                #expect(check.standardOutput.contains(place), "\(check)")
                let reload = try await scene.agent.tokenctl("reload")
                #expect(reload.status == 1, "\(reload)")
                #expect(reload.standardOutput.contains("requires a restart of the agent: "), "\(reload)")
            }
            // What is said to help does.
            #expect(try await scene.agent.tokenctl("shutdown").status == 0)
            try await scene.agent.start()
            let check = try await scene.agent.tokenctl("config", "check")
            #expect(!check.standardOutput.contains("restart"), "\(check)")
            #expect(try await scene.agent.tokenctl("reload").status == 0)
        }

        @Test(.holds("212")) func `doctor names a damaged store also where no agent runs`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try await scene.agent.end()
            let on = ["TOKENAGENT_AUTOSTART": "1"]
            let whole = try await scene.agent.tokenctl("doctor", extraEnvironment: on)
            #expect(whole.status == 0 && whole.standardOutput.contains("not running"), "\(whole)")
            try File.write("no vault", to: scene.agent.statePath + "/vault")
            let damaged = try await scene.agent.tokenctl("doctor", extraEnvironment: on)
            #expect(damaged.status == 1, "\(damaged)")
            #expect(damaged.standardOutput.contains("problem  store: "), "\(damaged)")
            #expect(damaged.standardOutput.contains("restoring the vault file from a backup"), "\(damaged)")
        }

        @Test(.holds("212")) func `a home whose name is not UTF-8 is said to be the reason`() async throws {
            let result = try await Program.run(
                ["/bin/sh", "-c", "HOME=$(printf '/tmp/x\\377') exec \"$0\" get work", BuiltPrograms.client],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            #expect(result.status == 2, "\(result)")
            #expect(result.standardError.contains("HOME is not UTF-8"), "\(result)")
        }

        @Test func `the status says why the last refresh was made`() async throws {
            let scene = try await Scene.loggedIn()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let status = try await scene.agent.tokenctl("status", "work").standardOutput
            #expect(status.contains("), person\n"), "\(status)")
        }

        @Test func `a wrong path of the issuer is a problem that says so`() async throws {
            let scene = try await Scene()
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                text.replacing(scene.issuer.issuer, with: scene.issuer.issuer + "/wrong")
            )
            try await scene.agent.start()
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.status == 1)
            #expect(
                doctor.standardOutput.contains("problem  server \(scene.issuer.issuer)/wrong: "),
                "\(doctor)"
            )
            #expect(doctor.standardOutput.contains("(set: the address or ca_file in"), "\(doctor)")
        }
    }
}
