// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its scripts"

extension EndToEnd {
    /// An MCP server whose tokens another server gives, which this project did not write either: it has its metadata at
    /// OpenID's address alone, registers the client with another status, and knows nothing of the resource.
    @Suite(
        .enabled(if: MCPServer.isAvailable && Glewlwyd.isAvailable, isOff),
        .glewlwyd,
        .mcpServer,
        .serialized
    )
    struct MCPBehindGlewlwydTests {
        @Test func `an address leads to a server of another kind, which registers the client`() async throws {
            let glewlwyd = try Glewlwyd.current()
            let server = try await MCPServer.start(
                "--external",
                glewlwyd.statePath,
                "--issuer",
                "rotate",
                "--stateless",
                "--json-response"
            )
            let scene = try await MCPScene(server, pages: glewlwyd.statePath)
            let login = try await scene.agent.tokenctl("login", "work")
            let browser = File.text(scene.agent.home.path("browser.log")) ?? ""
            try #require(login.status == 0, "\(login) \(scene.agent.log) \(browser.suffix(2000))")
            let issuer = glewlwyd.issuer("rotate")
            #expect(login.standardOutput.contains("\(server.resource) sends you to \(issuer)"), "\(login)")
            let first = try await scene.get()
            let called = try await scene.call("whoami")
            #expect(called.status == 0 && called.standardOutput.contains("alice"), "\(called)")
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed.standardError) \(scene.agent.log)")
            #expect(try await scene.get() != first)
            #expect(try await scene.call("whoami").standardOutput.contains("alice"))
            let logout = try await scene.agent.tokenctl("logout", "work")
            #expect(logout.status == 0 && logout.standardError.isEmpty, "\(logout)")
        }
    }
}
