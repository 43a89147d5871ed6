// SPDX-License-Identifier: MIT

import DemoIssuer
import StrictJSON
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.enabled(if: TestUser.isRoot, "only root can read the memory of another process"))
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

        /// A session that has been refreshed again and again over `transport`.
        private func used(tls: Bool = false, refreshes: Int = 8) async throws -> (Scene, History) {
            let authority = tls ? try CertificateAuthority() : nil
            let scene = try await Scene(
                { $0.rotation = .strict },
                options: { $0.tls = try authority?.issue() },
                session: tls ? "ca_file = \"CA_FILE\"" : ""
            )
            if let authority {
                let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
                let text = try #require(File.text(scene.agent.configurationPath))
                try scene.agent.configure(text.replacing("CA_FILE", with: file))
            }
            try await scene.agent.start()
            try await scene.logIn()
            var history = History()
            try await history.note(scene)
            for _ in 0..<refreshes {
                try #require(try await scene.agent.tokenctl("refresh", "work").status == 0)
                try await history.note(scene)
            }
            #expect(Set(history.all).count == 2 * (refreshes + 1))
            return (scene, history)
        }

        private func memory(_ scene: Scene) throws -> ProcessMemory {
            ProcessMemory(of: try #require(scene.agent.agent?.pid))
        }

        @Test func `what is there is found`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try memory(scene).hits(of: [scene.agent.statePath]).isEmpty == false)
        }

        @Test(arguments: [false, true])
        func `no refresh token and no old access token lies in memory`(tls: Bool) async throws {
            let (scene, history) = try await used(tls: tls)
            let hits = try memory(scene).hits(of: history.refreshTokens + history.accessTokens.dropLast())
            #expect(hits.isEmpty, "\(hits)")
            let current = try memory(scene).hits(of: [history.accessTokens.last ?? ""])
            #expect(current.isEmpty, "\(current)")
        }
    }
}
