// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import AgentSettings

/// Configurations so large that their sessions are read on two threads.
struct ManySessionsTests {
    /// A configuration of sessions with these clients, five lines for each.
    private func text(_ clients: [String]) -> String {
        clients.enumerated().map { index, client in
            "[session.s\(index)]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \(client)\n\n"
        }
        .joined()
    }

    @Test func `all sessions are there, in the order of the file`() throws {
        let clients = (0..<1001).map { "c\($0)" }
        let settings = try read(text(clients.map { "\"\($0)\"" }))
        #expect(settings.sessions.map(\.name.description) == clients.indices.map { "s\($0)" })
        #expect(settings.sessions.map(\.client.id) == clients)
    }

    @Test func `mistakes of both halves are reported, in the order of the file`() {
        var clients = [String](repeating: "\"c\"", count: 1000)
        for mistaken in [3, 499, 500, 998] { clients[mistaken] = "0" }
        #expect(
            complaints(text(clients))
                == [3, 499, 500, 998].map {
                    "config.toml:\($0 * 5 + 4): session.s\($0).client_id: must be a string, not an integer"
                }
        )
    }
}
