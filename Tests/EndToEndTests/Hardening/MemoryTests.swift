// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite(.full, .enabled(if: TestUser.isRoot, "only root can read the memory of another process"))
    struct MemoryTests {
        /// Refresh tokens and access tokens of one session, in order.
        private struct History {
            var refreshTokens: [String] = []
            var accessTokens: [String] = []
            var all: [String] { refreshTokens + accessTokens }

            mutating func note(_ scene: Scene) async throws {
                refreshTokens += scene.issuer.livingRefreshTokens
                accessTokens.append(try await scene.token())
            }
        }

        /// A session that is about to be refreshed again and again.
        private func scene(tls: Bool = false, more: String = "") async throws -> Scene {
            let authority = tls ? try CertificateAuthority() : nil
            let scene = try await Scene(
                { $0.rotation = .strict },
                options: { $0.tls = try authority?.issue() },
                session: tls ? "ca_file = \"CA_FILE\"" : more
            )
            if let authority {
                let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
                let text = try #require(File.text(scene.agent.configurationPath))
                try scene.agent.configure(text.replacing("CA_FILE", with: file))
            }
            try await scene.agent.start()
            return scene
        }

        private func use(_ scene: Scene, refreshes: Int = 8) async throws -> History {
            try await scene.logIn()
            var history = History()
            try await history.note(scene)
            for _ in 0..<refreshes {
                try #require(try await scene.agent.tokenctl("refresh", "work").status == 0)
                try await history.note(scene)
            }
            #expect(Set(history.all).count == 2 * (refreshes + 1))
            return history
        }

        /// Where the agent's memory holds any of `secrets`.
        private func hits(_ scene: Scene, _ secrets: [String]) throws -> [ProcessMemory.Hit] {
            try ProcessMemory(of: #require(scene.agent.agent?.pid)).hits(of: secrets)
        }

        @Test(.holds("27")) func `what is there is found`() async throws {
            let scene = try await scene()
            #expect(try hits(scene, [scene.agent.statePath]).isEmpty == false)
        }

        @Test(.holds("27", "28", "O22"), arguments: [false, true])
        func `neither refresh tokens nor access tokens lie in memory`(tls: Bool) async throws {
            let scene = try await scene(tls: tls)
            let history = try await use(scene)
            let found = try hits(scene, history.all + ["alice-password"])
            #expect(found.isEmpty, "\(found)")
            Attachment.record("\(found.count) of \(history.all.count) tokens", named: "figure")
        }

        @Test(.holds("29", "31")) func `after a lock nothing of the session and no passphrase is left`()
            async throws
        {
            let scene = try await scene()
            let passphrase = "correct horse battery staple"
            let made = try await scene.agent.changeVault(
                "POST",
                "init",
                #"{"type":"passphrase","passphrase":"\#(passphrase)"}"#
            )
            try #require(made.status == 200, "\(made.text)")
            let history = try await use(scene, refreshes: 2)
            #expect(try hits(scene, [passphrase]).isEmpty)
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            let found = try hits(scene, history.all + [passphrase])
            #expect(found.isEmpty, "\(found)")
            let unlocked = try await scene.agent.socket.request(
                "POST",
                "/v1/unlock",
                body: #"{"passphrase":"\#(passphrase)"}"#
            )
            try #require(unlocked.status == 200, "\(unlocked.text)")
            #expect(try await scene.token() == history.accessTokens.last)
            let later = try hits(scene, history.all + [passphrase])
            #expect(later.isEmpty, "\(later)")
            Attachment.record(
                "\(found.count) after the lock, \(later.count) after unlocking",
                named: "figure"
            )
        }

        @Test(.holds("30")) func `after a logout nothing of the session is left`() async throws {
            let scene = try await scene()
            let history = try await use(scene, refreshes: 2)
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            let found = try hits(scene, history.all)
            #expect(found.isEmpty, "\(found)")
            Attachment.record("\(found.count)", named: "figure")
        }

        @Test(.holds("27"), arguments: ["client_secret", "client_secret_file", "client_secret_command"])
        func `client secrets and key files lie nowhere in memory`(source: String) async throws {
            let secret = "demo-secret-7f3a"
            let directory = try TemporaryDirectory()
            let file = try directory.write(secret, to: "secret")
            let value =
                switch source {
                case "client_secret": "\"\(secret)\""
                case "client_secret_file": "\"\(file)\""
                default: "[\"cat\", \"\(file)\"]"
                }
            let scene = try await Scene { settings in settings.rotation = .strict }
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                text.replacing("demo-public", with: "demo-confidential") + "\(source) = \(value)\n"
            )
            try await scene.agent.start()
            let history = try await use(scene, refreshes: 2)
            let found = try hits(scene, history.all + [secret])
            #expect(found.isEmpty, "\(found)")
            let agent = try #require(scene.agent.agent?.pid)
            let children = try #require(File.text("/proc/\(agent)/task/\(agent)/children"))
            let runner = try #require(children.split(separator: " ").compactMap { Int32($0) }.first)
            let left = try ProcessMemory(of: runner).hits(of: history.all + [secret])
            #expect(left.isEmpty, "\(left)")
            let key = try #require(File.bytes(scene.agent.statePath + "/keyfile"))
            #expect(
                try ProcessMemory(of: agent).hits(ofBytes: [key]).isEmpty
            )
        }

        @Test(.holds("27", "28"))
        func `fifty sessions, each refreshed and read again and again, leave nothing`() async throws {
            let scene = try await Scene { $0.rotation = .strict }
            let names = (0..<50).map { "work\($0)" }
            let tables = names.map { Scene.session($0, scene.issuer) }
            try scene.agent.configure(tables.joined(separator: "\n"))
            try await scene.agent.start()
            var secrets: Set<String> = []
            for name in names { try await scene.logIn(name) }
            for _ in 0..<4 {
                for name in names {
                    secrets.formUnion(scene.issuer.livingRefreshTokens)
                    secrets.insert(try await scene.agent.tokenctl("get", name).line)
                    #expect(try await scene.agent.tokenctl("refresh", name).status == 0)
                }
            }
            for _ in 0..<20 {
                for name in names {
                    let reply = try await scene.agent.socket.request("GET", "/v1/sessions/\(name)/token")
                    secrets.insert(try #require(reply.json?["access_token"]?.string))
                }
            }
            secrets.formUnion(scene.issuer.livingRefreshTokens)
            let found = try hits(scene, Array(secrets))
            #expect(found.isEmpty, "\(found)")
            Attachment.record("\(found.count) of \(secrets.count) tokens", named: "figure")
        }
    }
}
