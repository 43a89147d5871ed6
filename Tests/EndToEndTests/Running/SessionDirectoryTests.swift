// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension Scene {
    /// The path of a session's file of its own.
    func sessionFile(_ name: String) -> String {
        agent.home.path("config/tokenagent/sessions.d/\(name).toml")
    }

    /// Writes a session's file of its own.
    func writeSession(_ name: String, _ text: String) throws {
        try agent.home.makeDirectory("config/tokenagent/sessions.d")
        try agent.home.write(text, to: "config/tokenagent/sessions.d/\(name).toml")
    }
}

extension EndToEnd {
    /// Sessions in files of their own are read with the configuration file, and cost themselves alone.
    @Suite struct SessionDirectoryTests {
        @Test func `a file that was just written can be logged in to`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("get", "z").status == 0)
            try await scene.agent.end()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "z").status == 0)
        }

        @Test func `a mistake costs its session alone, and everybody names it`() async throws {
            let scene = try await Scene()
            try scene.writeSession("good", Scene.session("good", scene.issuer))
            try scene.writeSession("bad", "[session.bad]\nkind = \"oidd\"\n")
            let place = "\(scene.sessionFile("bad")):2: session.bad.kind: "
            let before = try await scene.agent.tokenctl("doctor")
            #expect(before.standardOutput.contains("problem  configuration: \(place)"), "\(before)")
            #expect(!before.standardOutput.contains("no agent starts"))
            try await scene.agent.start()
            #expect(scene.agent.log.contains(place), "\(scene.agent.log)")
            for name in ["work", "good"] {
                try await scene.logIn(name)
                #expect(try await scene.agent.tokenctl("get", name).status == 0)
            }
            let absent = try await scene.agent.tokenctl("get", "bad")
            #expect(absent.status == 7)
            #expect(absent.standardError.contains(place), "\(absent.standardError)")
            #expect(absent.standardError.contains("tokenctl config check"))
            let check = try await scene.agent.tokenctl("config", "check")
            #expect(check.status == 2)
            #expect(check.standardError.contains(place), "\(check)")
            let json = try await scene.agent.tokenctl("config", "check", "--json")
            let report = try #require(try JSONValue(parsing: json.standardOutput.utf8).object)
            #expect(report["ok"] == .bool(false))
            #expect(report["sessions"]?.integer == 2)
            #expect(report["problems"]?.array?.first?.object?["file"]?.string == scene.sessionFile("bad"))
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.status == 1)
            #expect(doctor.standardOutput.contains("problem  configuration: \(place)"), "\(doctor)")
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 2)
            #expect(reload.standardError.contains(place), "\(reload)")
        }

        @Test func `a session in force outlasts a mistake in its file, with its secret and its commands`()
            async throws
        {
            let scene = try await Scene({ $0.accessLifetime = .seconds(2) })
            let secret = try scene.agent.home.write("demo-secret-7f3a", to: "secret")
            func session(_ name: String, _ key: String) -> String {
                Scene.session(name, scene.issuer, client: "demo-confidential", more: key)
            }
            try scene.writeSession("literal", session("literal", "client_secret = \"demo-secret-7f3a\""))
            try scene.writeSession(
                "command",
                session("command", "client_secret_command = [\"cat\", \"\(secret)\"]")
            )
            try await scene.agent.start()
            for name in ["literal", "command"] {
                try await scene.logIn(name)
                try scene.writeSession(name, "[session.\(name)]\nissuer = \"https://")
            }
            try scene.writeSession("new", Scene.session("new", scene.issuer))
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 2)
            #expect(reload.standardOutput.contains("added    session.new"), "\(reload)")
            #expect(!reload.standardOutput.contains("removed"), "\(reload)")
            for name in ["literal", "command"] {
                let refresh = try await scene.agent.tokenctl("refresh", name)
                #expect(refresh.status == 0, "\(refresh.standardError) \(scene.agent.log)")
                unlink(scene.sessionFile(name))
            }
            let gone = try await scene.agent.tokenctl("reload")
            #expect(gone.status == 0)
            #expect(gone.standardOutput.contains("removed  session.literal"), "\(gone)")
            #expect(try await scene.agent.tokenctl("get", "command").status == 7)
        }

        @Test func `of two sessions of one name that of the configuration file is served`() async throws {
            let scene = try await Scene.loggedIn()
            try scene.writeSession("work", Scene.session("work", scene.issuer, client: "another"))
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 2)
            let places =
                "\(scene.sessionFile("work")):1: session.work: has no effect: also defined at \(scene.agent.configurationPath):"
            #expect(reload.standardError.contains(places), "\(reload)")
            #expect(try await scene.token().isEmpty == false)
            try await scene.agent.end()
            try await scene.agent.start()
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a directory in which others can write is not read, and doctor says so`() async throws {
            let scene = try await Scene()
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            chmod(scene.agent.home.path("config/tokenagent/sessions.d"), 0o777)
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "z").status == 7)
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.status == 1)
            #expect(
                doctor.standardOutput.contains("sessions.d: must not be writable by group or others"),
                "\(doctor)"
            )
            #expect(scene.agent.log.contains("sessions.d: must not be writable by group or others"))
        }

        @Test func `a socket that takes the place of another one in its directory needs no restart`()
            async throws
        {
            let scene = try await Scene()
            try scene.agent.home.makeDirectory("box")
            let (old, new) = (scene.agent.home.path("box/old.sock"), scene.agent.home.path("box/new.sock"))
            let text = try #require(File.text(scene.agent.configurationPath))
            func table(_ path: String) -> String { "[[socket]]\npath = \"\(path)\"\nsessions = [\"work\"]\n" }
            try scene.agent.configure(text + table(old))
            try await scene.agent.start()
            try await scene.logIn()
            try scene.agent.configure(text + table(new))
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.status == 0 && !reload.standardOutput.contains("restart"), "\(reload)")
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", new).status == 0)
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", old).status == 3)
        }

        @Test func `a socket that names a session with a mistake is opened and does without it`() async throws
        {
            let scene = try await Scene()
            let path = scene.agent.home.path("run/extra.sock")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "[[socket]]\npath = \"\(path)\"\nsessions = [\"work\", \"z\"]\n")
            try scene.writeSession("z", "[session.z]\n")
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("get", "work", "--socket", path).status == 0)
            #expect(try await scene.agent.tokenctl("get", "z", "--socket", path).status == 7)
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("get", "z", "--socket", path).status == 0)
        }
    }
}
