// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Sessions that are taken away with their files.
    @Suite struct RemoveTests {
        @Test(.holds("190")) func `a session that is removed is logged out and gone`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add("z").status == 0)
            try await scene.logIn("z")
            let token = try await scene.agent.tokenctl("get", "z").line
            let removed = try await scene.agent.tokenctl("remove", "z")
            #expect(removed.status == 0, "\(removed)")
            #expect(removed.standardOutput == "Deleted: \(scene.sessionFile("z"))\n")
            #expect(removed.standardError.isEmpty)
            #expect(try await !scene.isAccepted(token))
            #expect(scene.sessionFiles.isEmpty)
            #expect(try await scene.agent.tokenctl("get", "z").status == 7)
            #expect(try await scene.agent.tokenctl("remove", "z").status == 7)
            #expect(try await scene.agent.tokenctl("remove", "../config").status == 2)
            #expect(File.exists(scene.agent.configurationPath))
            // The name is free again.
            #expect(try await scene.add("z").status == 0)
            #expect(try await scene.agent.tokenctl("get", "z").status == 4)
        }

        @Test func `a session of the configuration file is named with its line`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl("remove", "work")
            #expect(result.status == 2 && result.complainsInOneLine)
            let place = "\(scene.agent.configurationPath):2: session.work is in the configuration file"
            #expect(result.standardError.contains(place), "\(result)")
            #expect(try await !scene.token().isEmpty)
        }

        @Test(.holds("190")) func `a session that another table names stays`() async throws {
            let scene = try await Scene()
            let path = scene.agent.home.path("run/extra.sock")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            try scene.agent.configure(text + "[[socket]]\npath = \"\(path)\"\nsessions = [\"z\"]\n")
            try await scene.agent.start()
            try await scene.logIn("z")
            let named = try await scene.agent.tokenctl("remove", "z")
            #expect(named.status == 2 && named.complainsInOneLine)
            let remedy = "  Retry: after removing z from [[socket]] \(path)\n"
            #expect(named.standardError.hasSuffix("is used by [[socket]] \(path)\n\(remedy)"), "\(named)")
            #expect(try await scene.agent.tokenctl("get", "z").status == 0)
            // Neither does a mistake in the file make it go: without it no agent would start.
            try scene.writeSession("z", "[session.z]\n")
            #expect(try await scene.agent.tokenctl("remove", "z").status == 2)
            #expect(scene.sessionFiles == ["z.toml"])
        }

        @Test func `a file that was never in force goes alone`() async throws {
            let scene = try await Scene.loggedIn()
            try scene.writeSession("work", Scene.session("work", scene.issuer, client: "demo-other"))
            #expect(try await scene.agent.tokenctl("remove", "work").status == 0)
            #expect(scene.sessionFiles.isEmpty)
            #expect(try await !scene.token().isEmpty)
            try scene.writeSession("bad", "no TOML")
            let bad = try await scene.agent.tokenctl("remove", "bad")
            #expect(bad.status == 0, "\(bad)")
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test func `a session stays while the server may have to be asked again`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add("z").status == 0)
            try await scene.logIn("z")
            await scene.issuer.stopListening()
            let removed = try await scene.agent.tokenctl("remove", "z")
            #expect(removed.status == 5 && removed.complainsInOneLine, "\(removed)")
            #expect(scene.sessionFiles == ["z.toml"])
            #expect(try await scene.agent.tokenctl("remove", "z", "--local").status == 0)
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test func `without an agent nothing is deleted`() async throws {
            let scene = try await Scene()
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            let result = try await scene.agent.tokenctl("remove", "z")
            #expect(result.status == 3, "\(result)")
            #expect(scene.sessionFiles == ["z.toml"])
        }
    }
}
