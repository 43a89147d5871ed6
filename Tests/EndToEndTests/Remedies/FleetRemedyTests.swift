// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Remedies where another host of the fleet has to be asked, or the agent started again.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetRemedyTests {
        @Test func `what a reader may not do is done at a keeper`() async throws {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                let (keeper, reader) = (scene.keepers[0], scene.readers[0])
                let login = try await scene.tryLogIn(at: reader)
                let place = "at a host with role = \"keeper\""
                #expect(
                    PrintedRemedy(login, holding: "after tokenctl login work \(place)") != nil,
                    "\(login)"
                )
                try await scene.logIn(at: keeper)
                #expect(try await scene.commonToken() != nil)
                let variant = try await reader.tokenctl("get", "work", "--scope", "api")
                #expect(PrintedRemedy(variant, holding: place) != nil, "\(variant)")
                #expect(try await keeper.tokenctl("get", "work", "--scope", "api").status == 0)
                let out = try await reader.tokenctl("logout", "work", "--all-hosts")
                #expect(PrintedRemedy(out, holding: place) != nil, "\(out)")
                #expect(try await keeper.tokenctl("logout", "work", "--all-hosts").status == 0)
                #expect(try await reader.reaches("logged_out", "work"))
            }
        }

        @Test func `an agent that was started without the fleet is restarted`() async throws {
            try await FleetScene.whileRunning(keepers: 1) { scene in
                let host = scene.keepers[0]
                let text = try #require(File.text(host.configurationPath))
                let start = try #require(text.firstRange(of: "[fleet]")?.lowerBound)
                let table = text[start...].split(separator: "\n[", maxSplits: 1)[0]
                try await host.end()
                try host.configure(text.replacing(table, with: "").replacing("fleet = true", with: ""))
                try await host.start()
                try host.configure(text)
                _ = try await host.tokenctl("reload")
                let refused = try await scene.tryLogIn(at: host)
                #expect(
                    PrintedRemedy(refused, holding: "tokenctl shutdown && tokenagent") != nil,
                    "\(refused)"
                )
                try await host.end()
                try await host.start()
                let login = try await scene.tryLogIn(at: host)
                #expect(login.status == 0, "\(login)")
            }
        }

        @Test func `a login that has overtaken a logout is ended by another one`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let relay = try await scene.relay(for: other)
                _ = try #require(try await scene.commonToken())
                // What this host writes comes to etcd after the login of the other one.
                try await relay.hold()
                async let out = other.tokenctl("logout", "work")
                #expect(try await other.reaches("logged_out", "work"))
                try await scene.logIn(at: one)
                try await relay.release()
                let overtaken = try await out
                let remedy = PrintedRemedy(overtaken, holding: "tokenctl logout work")
                let found = try #require(remedy, "\(overtaken) \(other.log)")
                #expect(overtaken.standardError.contains("another login came first"), "\(overtaken)")
                #expect(try await one.tokenctl("get", "work").status == 0)
                #expect(try await other.shell(try #require(found.command)).status == 0)
                #expect(try await one.reaches("logged_out", "work"))
            }
        }

        @Test(arguments: [true, false])
        func `a host that has left logs the others out as it is said`(joins: Bool) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                #expect(try await scene.commonToken() != nil)
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
                let refused = try await other.tokenctl("logout", "work", "--all-hosts")
                let remedy = "tokenctl fleet join work && tokenctl logout work"
                #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
                if joins {
                    #expect(try await other.tokenctl("fleet", "join", "work").status == 0)
                    #expect(try await other.tokenctl("logout", "work", "--all-hosts").status == 0)
                } else {
                    #expect(try await one.tokenctl("logout", "work").status == 0)
                }
                #expect(try await one.reaches("logged_out", "work"))
            }
        }
    }
}
