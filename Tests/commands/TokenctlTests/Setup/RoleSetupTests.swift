// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// For which sessions `tokenctl setup aws` writes a profile.
struct RoleSetupTests {
    private static let role = ["--account", "123456789012", "--role", "Admin"]

    private func setUp(_ kind: String?, _ options: [String] = []) async throws -> ProgramResult {
        let member = kind.map { ",\"kind\":\"\($0)\"" } ?? ""
        let tokenctl = try TokenctlRun(responding: { _ in .answer("{\"session\":\"work\"\(member)}") })
        return try await tokenctl.run(["setup", "aws", "--session", "work", "--print"] + options)
    }

    @Test(arguments: [("aws_role", []), ("aws_sso", role), (nil, []), (nil, role)])
    func `a session with role credentials gets a profile`(kind: String?, options: [String]) async throws {
        let result = try await setUp(kind, options)
        #expect(result.status == 0 && result.standardOutput.contains("[profile work]"), "\(result)")
    }

    @Test(arguments: [
        ("oidc", [], "kind oidc has no role credentials, only kinds aws_role and aws_sso"),
        ("command", role, "kind command has no role credentials"),
        ("aws_sso", [], "requires --account and --role"),
        ("aws_role", role, "require a session of kind aws_sso"),
    ])
    func `a session for which tokenctl aws never has an answer gets none`(
        kind: String,
        options: [String],
        words: String
    ) async throws {
        let result = try await setUp(kind, options)
        #expect(result.status == 2 && result.standardOutput.isEmpty, "\(result)")
        #expect(result.standardError.contains(words), "\(result)")
    }

    @Test func `a session that the agent does not know gets none`() async throws {
        let tokenctl = try TokenctlRun(TokenctlRun.failure("not_found", 404))
        let result = try await tokenctl("setup", "aws", "--session", "work")
        #expect(result.status != 0 && result.standardError.contains("work"), "\(result)")
    }
}
