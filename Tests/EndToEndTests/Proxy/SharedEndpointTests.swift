// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Several programs that want the same `[[endpoint]]`.
    @Suite struct SharedEndpointTests {
        private static let audience = "https://vault.example"
        private static let ask = """
            ask() { curl -s -o /dev/null -w '%{http_code}\\n' -H "X-IDENTITY-HEADER: $IDENTITY_HEADER" \
                "$IDENTITY_ENDPOINT?api-version=2019-08-01&resource=\(audience)"; }

            """

        /// With the endpoint at a free port, or at one that a server has.
        private static func scene(isTaken: Bool = false, session: String = "") async throws -> Scene {
            let scene = try await Scene(session: "audience = \"\(audience)\"\n" + session)
            let port = isTaken ? scene.issuer.issuer.split(separator: ":").last.map(String.init) ?? "" : "0"
            let table = """

                [[endpoint]]
                name = "cloud"
                kind = "azure-msi"
                listen = "127.0.0.1:\(port)"
                session = "work"

                """
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + table)
            try await scene.agent.start()
            try await scene.logIn()
            return scene
        }

        private static func run(_ scene: Scene, _ script: String) async throws -> ProgramResult {
            try await scene.agent.tokenctl(["exec", "--endpoint", "cloud", "--", "sh", "-c", ask + script])
        }

        @Test(arguments: [true, false])
        func `each program has its own, and the end of one is nothing to another`(isTaken: Bool) async throws
        {
            let scene = try await Self.scene(isTaken: isTaken)
            let script = try scene.agent.home.write(Self.ask + "ask\n", to: "ask.sh")
            let result = try await Self.run(scene, "ask; tokenctl exec --endpoint cloud -- sh \(script); ask")
            #expect(result.standardOutput == "200\n200\n200\n", "\(result)")
        }

        @Test func `programs that begin at once all have it, whichever gets its port`() async throws {
            let scene = try await Self.scene()
            let port = Int.random(in: 20_000..<60_000)
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("127.0.0.1:0\"", with: "127.0.0.1:\(port)\""))
            let results = try await withThrowingTaskGroup(of: ProgramResult.self) { group in
                for _ in 0..<6 { group.addTask { try await Self.run(scene, "ask") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for result in results { #expect(result.standardOutput == "200\n", "\(result)") }
        }

        @Test(
            .enabled(
                if: TestUser.isRoot,
                "only root can read which file a process runs that refuses inspection"
            )
        )
        func `an endpoint at another port is still the one that a session's rules name`()
            async throws
        {
            let rules = "allow = [{ proxy = \"cloud\" }, { exe = \"\(BuiltPrograms.client)\" }]"
            let scene = try await Self.scene(isTaken: true, session: rules)
            let result = try await Self.run(scene, "ask")
            #expect(result.standardOutput == "200\n", "\(result)")
        }

        @Test func `what a proxy serves is used, and is left alone`() async throws {
            let scene = try await Self.scene()
            let proxy = try scene.agent.startTokenctl(["proxy", "--metrics", "127.0.0.1:0"])
            let line = try await proxy.outputLine(containing: "cloud ")
            let url = String(line.dropFirst("cloud ".utf8.count))
            let metrics = try await proxy.outputLine(containing: "metrics ").dropFirst("metrics ".utf8.count)
            for _ in 0..<2 {
                let result = try await Self.run(scene, "ask; echo \"$IDENTITY_ENDPOINT\"")
                #expect(result.standardOutput == "200\n\(url)/msi/token\n", "\(result)")
            }
            let figures = try await Program.run(
                ["curl", "-sS", String(metrics)],
                environment: scene.agent.environment
            )
            #expect(figures.standardOutput.contains("cloud"), "\(figures)")
            let second = try await scene.agent.tokenctl("proxy")
            #expect(second.status == 2, "\(second)")
            #expect(second.standardError.contains("another tokenctl proxy already serves the endpoint cloud"))
            #expect(second.standardError.hasSuffix("  Retry: after stopping the other tokenctl proxy\n"))
            // Killed, it leaves nothing that anybody believes in.
            proxy.signal(.kill)
            try await proxy.finish()
            let after = try await Self.run(scene, "ask; echo \"$IDENTITY_ENDPOINT\"")
            #expect(after.standardOutput.hasPrefix("200\n"), "\(after)")
            #expect(after.standardOutput != "200\n\(url)/msi/token\n", "\(after)")
            let next = try scene.agent.startTokenctl(["proxy"])
            #expect(try await next.outputLine(containing: "cloud ").hasPrefix("cloud http://"))
        }
    }
}
