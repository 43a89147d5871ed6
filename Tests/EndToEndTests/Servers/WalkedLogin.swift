// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A scene whose session `work` logs in at pages that a script fills in instead of a user.
protocol WalkedLogin {
    var agent: AgentUnderTest { get }
}

extension WalkedLogin {
    func logIn(_ arguments: String..., input: String = "") async throws {
        let result = try await agent.tokenctl(["login", "work"] + arguments, input: input)
        let browser = File.text(agent.home.path("browser.log")) ?? ""
        try #require(result.status == 0, "\(result.standardError) \(agent.log) \(browser.suffix(2000))")
    }

    func get() async throws -> String {
        let result = try await agent.tokenctl("get", "work")
        try #require(result.status == 0, "\(result.standardError) \(agent.log)")
        return result.line
    }

    func refresh() async throws -> ProgramResult { try await agent.tokenctl("refresh", "work") }
}
