// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// `tokenctl mcp headers` with the real programs.
    @Suite struct MCPHeadersTests {
        @Test func `the header is JSON, for the address and what is below it`() async throws {
            let scene = try await BridgeScene()
            let token = try await scene.scene.token()
            for address in [scene.server.address, scene.server.address + "/below?x=y"] {
                let result = try await scene.agent.tokenctl("mcp", "headers", address)
                #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
                #expect(result.standardOutput == "{\"Authorization\":\"Bearer \(token)\"}\n")
            }
        }

        @Test(.holds("221")) func `nothing is printed where there is no token`() async throws {
            let scene = try await BridgeScene()
            let other = try await scene.agent.tokenctl("mcp", "headers", scene.server.address + "-other")
            #expect(other.status == 7 && other.standardOutput.isEmpty && other.complainsInOneLine, "\(other)")
            #expect(other.standardError.contains("Run: tokenctl login '\(scene.server.address)-other'"))
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            let over = try await scene.agent.tokenctl("mcp", "headers", scene.server.address)
            #expect(over.status == 4 && over.standardOutput.isEmpty && over.complainsInOneLine, "\(over)")
            #expect(over.standardError.hasSuffix("Run: tokenctl login work\n"), "\(over)")
            // Neither made a session, nor a login.
            #expect(try await scene.agent.tokenctl("list").standardOutput == "work\n")
            #expect(scene.scene.refreshes == 0)
        }

        /// Two programs may understand these as two addresses, one of them not below the session's.
        @Test(arguments: [
            "/..%2fother", "/..%2Fother", "/%2e%2e/other", "/%2E./other", "/../other", "/a%5c..%5cb",
        ])
        func `an address that leads above the session's gets no token`(path: String) async throws {
            let scene = try await BridgeScene()
            let result = try await scene.agent.tokenctl("mcp", "headers", scene.server.address + path)
            #expect(result.status == 2 && result.standardOutput.isEmpty, "\(result)")
            #expect(result.complainsInOneLine, "\(result)")
        }

        @Test func `a token bound to a key is no header, but goes through the bridge`() async throws {
            let scene = try await BridgeScene(session: "dpop = true") { $0.dpop = .required }
            let refused = try await scene.agent.tokenctl("mcp", "headers", scene.server.address)
            #expect(refused.status == 2 && refused.standardOutput.isEmpty, "\(refused)")
            #expect(
                refused.standardError.contains("Run: tokenctl mcp connect '\(scene.server.address)'"),
                "\(refused)"
            )
            let result = try await scene.converse()
            #expect(result.standardOutput.contains(#""text":"hello""#), "\(result)")
            let requests = scene.requests
            #expect(requests.allSatisfy { $0.field("authorization")?.hasPrefix("DPoP ") == true })
            let proofs = requests.compactMap { $0.field("dpop") }
            #expect(proofs.count == requests.count && Set(proofs).count == proofs.count)
        }

        @Test(.holds("223")) func `the closest of several sessions is taken`() async throws {
            let scene = try await BridgeScene()
            let configuration = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                configuration + """

                    [session.closer]
                    resource = "\(scene.server.address)/deep"
                    client_id = "demo-public"

                    """
            )
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let closer = try await scene.agent.tokenctl("mcp", "headers", scene.server.address + "/deep/er")
            #expect(closer.status == 4 && closer.standardError.contains("tokenctl login closer"), "\(closer)")
            let other = try await scene.agent.tokenctl("mcp", "headers", scene.server.address + "/deeper")
            #expect(other.status == 0, "\(other)")
        }
    }
}
