// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// A host whose table of a shared session is changed while its agent runs, and while it does not.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetReloadTests {
        /// Puts `new` in the place of `old` in the host's configuration, and has the agent take it over.
        private static func change(
            _ host: AgentUnderTest,
            _ old: String,
            to new: String,
            withRestart: Bool
        ) async throws {
            let text = try #require(File.text(host.configurationPath))
            try #require(text.contains(old))
            if withRestart { try await host.end() }
            try host.configure(text.replacing(old, with: new))
            guard !withRestart else { return try await host.start() }
            let reload = try await host.tokenctl("reload")
            try #require(reload.status == 0, "\(reload)")
        }

        @Test(arguments: [false, true])
        func `a host that shares a session no more leaves the fleet's login alone`(
            withRestart: Bool
        ) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                try await Self.change(other, "fleet = true", to: "", withRestart: withRestart)
                let refused = try await other.tokenctl("get", "work")
                #expect(refused.status == 4, "\(refused)")
                #expect(refused.standardError.contains("fleet"), "\(refused)")
                #expect(try await other.tokenctl("refresh", "work").status == 4)
                #expect(scene.refreshes == 0)
                #expect(try await scene.token(of: one) == token)
                // The record is kept for the day when the table is put right.
                try await Self.change(
                    other,
                    "[session.work]",
                    to: "[session.work]\nfleet = true",
                    withRestart: withRestart
                )
                #expect(try await scene.commonToken() == token)
                // A login of its own is nobody else's.
                try await Self.change(other, "fleet = true", to: "", withRestart: withRestart)
                try await scene.logIn(at: other)
                #expect(try await scene.token(of: other) != token)
                #expect(try await scene.token(of: one) == token)
            }
        }

        @Test func `a session that is taken out and put back during its refresh loses nothing`() async throws
        {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (token, refresh) = try await scene.holdRefresh(at: other)
                let text = try #require(File.text(other.configurationPath))
                try other.configure(text.replacing("[session.work]", with: "[session.rest]"))
                async let reload = other.tokenctl("reload")
                let waits = try await Polling.until { other.log.contains("reload delayed until unpublished") }
                #expect(waits)
                scene.issuer.release()
                #expect(try await reload.status == 0)
                try await refresh.value
                // Also if it is never put back.
                #expect(try await scene.commonToken(of: [one], besides: token) != nil, "\(other.log)")
                try await Self.change(other, "[session.rest]", to: "[session.work]", withRestart: false)
                let next = try #require(try await scene.commonToken(besides: token), "\(other.log)")
                // The answer was taken, so that the next refresh is not of the old token.
                #expect(try await one.tokenctl("refresh", "work").status == 0)
                #expect(try await scene.commonToken(besides: next) != nil)
                let sent = scene.issuer.requests(to: "/token").compactMap { $0.form["refresh_token"] }
                #expect(Set(sent).count == sent.count)
            }
        }

        @Test(arguments: [false, true])
        func `the answer to a refresh is that of the client that sent it`(isPutBack: Bool) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (token, refresh) = try await scene.holdRefresh(at: other)
                let text = try #require(File.text(other.configurationPath))
                try other.configure(text.replacing("client_id = \"", with: "client_id = \"not-"))
                async let reload = other.tokenctl("reload")
                let waits = try await Polling.until { other.log.contains("reload delayed until unpublished") }
                #expect(waits)
                if isPutBack { try other.configure(text) }
                async let second = other.tokenctl("reload")
                scene.issuer.release()
                #expect(try await reload.status == 0)
                #expect(try await second.status == 0)
                try await refresh.value
                let hosts = isPutBack ? [one, other] : [one]
                #expect(try await scene.commonToken(of: hosts, besides: token) != nil, "\(other.log)")
                #expect(try await one.tokenctl("refresh", "work").status == 0)
                #expect(scene.issuer.requests(to: "/revoke").isEmpty)
            }
        }

        @Test func `a session is not taken out before its fleet has its answer`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let token = try await scene.refreshWithoutEtcd(at: other)
                let text = try #require(File.text(other.configurationPath))
                try other.configure(text.replacing("[session.work]", with: "[session.rest]"))
                let refused = try await other.tokenctl("reload")
                #expect(refused.status == 5, "\(refused)")
                #expect(refused.standardError.contains("not yet in etcd: the newest tokens"), "\(refused)")
                #expect(try await other.tokenctl("get", "work").status == 0)
                try await scene.etcd("up", "n1")
                let isTaken = try await Polling.until(within: .seconds(60)) {
                    try await other.tokenctl("reload").status == 0
                }
                #expect(isTaken, "\(other.log)")
                #expect(try await scene.commonToken(of: [one], besides: token) != nil)
                #expect(try await one.tokenctl("refresh", "work").status == 0)
            }
        }

        @Test func `an answer that a logout elsewhere has overtaken is revoked`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let (_, refresh) = try await scene.holdRefresh(at: other)
                #expect(try await one.tokenctl("logout", "work").status == 0)
                let before = Set(revoked(scene))
                // Not only when the answer has come.
                let isOut = try await Polling.until { try await other.tokenctl("get", "work").status == 4 }
                #expect(isOut)
                scene.issuer.release()
                try await refresh.value
                #expect(
                    try await Polling.until { Set(revoked(scene)).subtracting(before).count >= 1 },
                    "\(other.log)"
                )
                #expect(try await other.tokenctl("get", "work").status == 4)
            }
        }

        private func revoked(_ scene: FleetScene) -> [String] {
            scene.issuer.requests(to: "/revoke").compactMap { $0.form["token"] }
        }

        @Test func `a session that is shared from a reload on is that of all hosts`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await Self.change(one, "fleet = true", to: "", withRestart: true)
                try await scene.logIn(at: one)
                let token = try #require(try await scene.token(of: one))
                #expect(try await other.tokenctl("get", "work").status == 4)
                try await Self.change(
                    one,
                    "[session.work]",
                    to: "[session.work]\nfleet = true",
                    withRestart: false
                )
                #expect(try await scene.commonToken() == token)
                #expect(try await other.tokenctl("refresh", "work").status == 0)
                #expect(try await scene.commonToken(besides: token) != nil)
            }
        }

        @Test(arguments: [false, true])
        func `a host whose table names another client ends nobody's login`(withRestart: Bool) async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: one)
                let token = try #require(try await scene.commonToken())
                let client = "client_id = \""
                try await Self.change(other, client, to: client + "not-", withRestart: withRestart)
                let refused = try await other.tokenctl("get", "work")
                #expect(refused.status != 0, "\(refused)")
                #expect(
                    refused.standardError.contains("differs from this host's settings in client_id"),
                    "\(refused)"
                )
                // Nobody else would have that login.
                let login = try await scene.tryLogIn(at: other)
                #expect(login.status == refused.status, "\(login)")
                #expect(login.standardError.contains("in client_id"), "\(login)")
                #expect(try await one.tokenctl("refresh", "work").status == 0)
                let next = try #require(try await scene.token(of: one))
                #expect(next != token)
                try await Self.change(other, client + "not-", to: client, withRestart: withRestart)
                #expect(try await scene.commonToken() == next)
                #expect(scene.refreshes == 1)
            }
        }
    }
}
