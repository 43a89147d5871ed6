// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

private let hasLandlock = Program.succeeds(
    "'\(BuiltPrograms.directory)/confinement-probe' confined / / thread | grep -q '^gap.*Landlock' && exit 1 || exit 0"
)

extension EndToEnd {
    /// Which files a running agent reaches, and what it says of others.
    @Suite(.enabled(if: hasLandlock, "this kernel has no Landlock"))
    struct ReachTests {
        /// Names a certificate file in the configuration and reloads; answers what a login says then.
        private func logIn(with file: String, in scene: Scene) async throws -> ProgramResult {
            let text = try #require(File.text(scene.agent.configurationPath))
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("ca_file") }
            try scene.agent.configure(lines.joined(separator: "\n") + "\nca_file = \"\(file)\"\n")
            try #require(try await scene.agent.socket.request("POST", "/v1/reload").status == 200)
            return try await scene.agent.tokenctl(
                ["login", "work", "--username", "alice", "--password-stdin"],
                input: "alice-password\n"
            )
        }

        private func scene(_ authority: CertificateAuthority) async throws -> Scene {
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            try await scene.agent.start()
            return scene
        }

        @Test func `a certificate named later, in the home directory, needs a restart`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await scene(authority)
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let refused = try await logIn(with: file, in: scene)
            #expect(refused.status != 0)
            #expect(refused.standardError.contains("tokenctl shutdown"), "\(refused.standardError)")
            try await scene.agent.end()
            try await scene.agent.start()
            try await scene.logIn()
        }

        @Test func `a socket in the home directory opens nothing else there`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            let path = scene.agent.home.path("agent.sock")
            let agent = try Program(
                [BuiltPrograms.agent, "--foreground", "-a", path],
                environment: scene.agent.environment
            )
            let socket = ConnectedAgentSocket(path: path)
            let answers = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return (try? await socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
            }
            #expect(answers)
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + "\nca_file = \"\(file)\"\n")
            try #require(try await socket.request("POST", "/v1/reload").status == 200)
            let refused = try await scene.agent.tokenctl(
                ["login", "work", "--socket", path, "--username", "alice", "--password-stdin"],
                input: "alice-password\n"
            )
            #expect(refused.standardError.contains("tokenctl shutdown"), "\(refused)")
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
            #expect(!File.exists(path))
        }

        @Test func `a certificate beside the configuration is read at once, and may be replaced`()
            async throws
        {
            let authority = try CertificateAuthority()
            let scene = try await scene(authority)
            let place = "config/tokenagent/ca.pem"
            let file = try scene.agent.home.write(try CertificateAuthority().certificatePEM, to: place)
            #expect(try await logIn(with: file, in: scene).status != 0)
            try scene.agent.home.write(authority.certificatePEM, to: place + ".new")
            try #require(Program.succeeds("mv '\(file).new' '\(file)'"))
            try await scene.logIn()
        }

        @Test func `a configuration written after the first start is read`() async throws {
            let scene = try await Scene()
            let text = try #require(File.text(scene.agent.configurationPath))
            try #require(Program.succeeds("rm -r '\(scene.agent.home.path("config/tokenagent"))'"))
            try await scene.agent.start()
            try scene.agent.configure(text)
            try #require(try await scene.agent.socket.request("POST", "/v1/reload").status == 200)
            try await scene.logIn()
        }

        @Test func `a key file elsewhere can be added after a restart that knows it`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let key = try scene.agent.home.write(String(repeating: "k", count: 40), to: "key")
            let body = #"{"type":"keyfile","path":"\#(key)"}"#
            let refused = try await scene.agent.changeVault("POST", "slots", body)
            #expect(refused.status != 200)
            #expect(refused.text.contains("tokenctl shutdown && tokenagent"), "\(refused.text)")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure("[vault]\nkeyfile = \"\(key)\"\n" + text)
            try await scene.agent.end()
            try await scene.agent.start()
            let added = try await scene.agent.changeVault("POST", "slots", body)
            #expect(added.status == 200, "\(added.text)")
            #expect(try await scene.agent.tokenctl("vault", "slots", "remove", "0").status == 0)
            try scene.agent.configure(text)
            try await scene.agent.end()
            // Now the vault itself names the file.
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }
    }
}
