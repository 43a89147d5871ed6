// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A refresh whose agent is killed, over TLS and at servers that accept each refresh token once.
    @Suite struct GuardedRefreshTests {
        /// A scene over TLS whose session is logged in.
        private func scene(
            _ rotation: IssuerSettings.Rotation = .strict,
            session: String = "",
            in parent: String? = nil
        ) async throws -> Scene {
            let authority = try CertificateAuthority()
            let scene = try await Scene(
                { $0.rotation = rotation },
                options: { $0.tls = try authority.issue() },
                session: "ca_file = \"CA_FILE\"\n\(session)",
                in: parent
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            try await scene.agent.start()
            try await scene.logIn()
            scene.issuer.forgetRequests()
            return scene
        }

        /// A scene whose session asks at `host` of this machine, for which `authority` has issued the certificate.
        private func scene(at host: String, _ authority: CertificateAuthority) async throws -> Scene {
            let scene = try await Scene(
                { $0.rotation = .strict },
                options: { $0.tls = try authority.issue(for: [host]) }
            )
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            try scene.agent.configure(
                """
                [session.work]
                kind = "oauth2"
                token_endpoint = "https://\(host):\(scene.issuer.port)/token"
                client_id = "demo-public"
                scopes = ["openid", "offline_access", "api"]
                flow = "password"
                ca_file = "\(file)"

                """
            )
            try await scene.agent.start()
            try await scene.logIn()
            scene.issuer.forgetRequests()
            return scene
        }

        @Test(arguments: ["localhost", "127.0.0.1"])
        func `a name and an address are compared with the certificate`(
            host: String
        ) async throws {
            let authority = try CertificateAuthority()
            let scene = try await scene(at: host, authority)
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0, "\(scene.agent.log)")
            #expect(sent(scene).count == 1)
            await scene.issuer.stopListening()
            var options = DemoIssuer.Options()
            options.port = scene.issuer.port
            options.tls = try authority.issue(for: ["other.example", "127.0.0.2"])
            let other = try await DemoIssuer.start(options)
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(refused.status != 0)
            #expect(refused.standardError.contains("another host name"), "\(refused)")
            #expect(other.requests().isEmpty)
            await other.stopListening()
        }

        private func sent(_ scene: Scene) -> [String?] {
            scene.issuer.requests(to: "/token").map { $0.form["refresh_token"] }
        }

        private func answers(_ scene: Scene) -> [String] {
            let directory = "\(scene.agent.statePath)/sessions"
            return File.names(in: directory).filter { $0.hasSuffix(".ans") }.map { "\(directory)/\($0)" }
        }

        /// Expects the session to go on with the answer that was recorded, and nothing to have been sent twice.
        private func expectTaken(
            _ scene: Scene,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            #expect(
                try await scene.agent.reaches("ready", "work"),
                "\(scene.agent.log)",
                sourceLocation: sourceLocation
            )
            #expect(sent(scene).count == 1, sourceLocation: sourceLocation)
            #expect(answers(scene).isEmpty, sourceLocation: sourceLocation)
            #expect(
                try await scene.agent.tokenctl("refresh", "work").status == 0,
                "\(scene.agent.log)",
                sourceLocation: sourceLocation
            )
            #expect(Set(sent(scene)).count == 2, sourceLocation: sourceLocation)
        }

        @Test func `a refresh goes through a guard, which leaves nothing behind`() async throws {
            let scene = try await scene()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0, "\(scene.agent.log)")
            #expect(answers(scene).isEmpty)
            #expect(try await Polling.until { GuardProcess.all(of: scene.agent).isEmpty })
            #expect(!scene.agent.log.contains("warning"), "\(scene.agent.log)")
        }

        @Test(.holds("253")) func `the answer to a killed agent is taken by the next one`() async throws {
            let scene = try await scene()
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            scene.issuer.release()
            #expect(try await exchange.ends())
            try await scene.agent.start()
            try await expectTaken(scene)
        }

        @Test(.holds("253")) func `an agent that starts before the answer waits for it`() async throws {
            let scene = try await scene()
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("refreshing", "work"))
            #expect(sent(scene).count == 1)
            scene.issuer.release()
            try await expectTaken(scene)
            #expect(try await exchange.ends())
        }

        @Test(.holds("253")) func `any number of agents may be killed before the answer comes`() async throws
        {
            let scene = try await scene()
            _ = try await GuardProcess.left(by: scene.agent, scene.issuer)
            for _ in 0..<5 {
                try await scene.agent.start()
                #expect(try await scene.agent.reaches("refreshing", "work"))
                try await scene.agent.kill()
            }
            scene.issuer.release()
            try await scene.agent.start()
            try await expectTaken(scene)
        }

        @Test func `a refusal to a killed agent is not asked for again`() async throws {
            let scene = try await scene()
            let refusal = IssuerResponse(status: 503, headers: [("Retry-After", "1")])
            scene.issuer.queue(Disturbance(reply: refusal, isProcessed: false, isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(1, to: "/token", within: .seconds(120)))
            try await scene.agent.kill()
            try await refresh.finish()
            scene.issuer.release()
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("ready", "work", within: .seconds(60)))
        }

        @Test func `the life of a token that was waited for counts from its request`() async throws {
            let scene = try await scene()
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            scene.issuer.release()
            #expect(try await exchange.ends())
            let before = ContinuousClock.now
            #expect(try await Polling.until { ContinuousClock.now - before > .seconds(2) })
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("ready", "work"))
            let left = try #require(try await scene.agent.status("work")["expires_in"]?.integer)
            #expect(left <= 598, "\(left)")
        }

        @Test(.holds("253")) func `an answer that was changed is refused and kept aside`() async throws {
            let scene = try await scene(.grace(.seconds(600)))
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            scene.issuer.release()
            #expect(try await exchange.ends())
            let path = try #require(answers(scene).first)
            let file = open(path, O_RDWR)
            var byte: UInt8 = 0
            #expect(pread(file, &byte, 1, 100) == 1)
            byte ^= 1
            #expect(pwrite(file, &byte, 1, 100) == 1)
            close(file)
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("ready", "work"))
            // The server keeps the old token for a while, so asking again still helps.
            #expect(sent(scene).count == 2)
            #expect(scene.agent.log.contains("was changed or damaged"), "\(scene.agent.log)")
            #expect(File.names(in: "\(scene.agent.statePath)/sessions").contains { $0.hasSuffix(".ans.bad") })
        }

        @Test(.holds("253"), arguments: SmallDisk.Kind.allCases)
        func `the answer to a killed agent has room on a disk that is full by then`(
            kind: SmallDisk.Kind
        ) async throws {
            try await SmallDisk.mounted(kind) { disk in
                let scene = try await scene(in: disk.directory.path)
                let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
                try await disk.fill()
                scene.issuer.release()
                #expect(try await exchange.ends())
                try await disk.makeRoom()
                try await scene.agent.start()
                try await expectTaken(scene)
                try await scene.agent.end()
            }
        }

        @Test(.holds("253")) func `a logout while nobody knows the answer is final`() async throws {
            let scene = try await scene()
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("refreshing", "work"))
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            scene.issuer.release()
            #expect(try await exchange.ends())
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.reaches("logged_out", "work"))
            #expect(answers(scene).isEmpty)
        }

        @Test(.holds("253")) func `a guard that is killed costs what a broken connection costs`() async throws
        {
            let scene = try await scene(.grace(.seconds(600)))
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(1, to: "/token", within: .seconds(120)))
            try #require(try await GuardProcess.find(of: scene.agent)).signal(.kill)
            scene.issuer.release()
            try await refresh.finish()
            #expect(try await scene.refreshesAgain(), "\(scene.agent.log)")
            #expect(answers(scene).isEmpty)
        }

        @Test(.holds("253")) func `what ends services does not end a guard at work`() async throws {
            let scene = try await scene()
            let exchange = try await GuardProcess.left(by: scene.agent, scene.issuer)
            for signal in [Signal.terminate, .interrupt, .hangUp] { exchange.signal(signal) }
            scene.issuer.release()
            #expect(try await exchange.ends())
            try await scene.agent.start()
            try await expectTaken(scene)
        }

        @Test func `without the process that starts guards refreshes go on`() async throws {
            let scene = try await scene()
            let agent = try #require(scene.agent.agent?.pid)
            let children = File.text("/proc/\(agent)/task/\(agent)/children") ?? ""
            for child in children.split(separator: " ").compactMap({ pid_t($0) }) { kill(child, SIGKILL) }
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0, "\(scene.agent.log)")
        }
    }
}
