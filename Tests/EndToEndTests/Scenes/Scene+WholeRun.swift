// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension Scene {
    /// Uses much of what the programs can do with the session `work`, which is logged in before and after; answers
    /// every secret that was met.
    func wholeRun() async throws -> Set<String> {
        var secrets: Set<String> = ["alice-password", try await token()]
        secrets.formUnion(issuer.livingRefreshTokens)
        for arguments in [
            ["status"], ["list"], ["claims", "work"], ["get", "work", "--format", "header"],
            ["get", "work", "--format", "json"], ["refresh", "work"],
            ["exec", "work", "--", "cat", "/dev/null"],
            ["curl", "work", "--", "-s", "-o", "/dev/null", "\(issuer.issuer)/resource"],
            ["lock"], ["unlock"],
        ] {
            let result = try await agent.tokenctl(arguments)
            #expect(result.status == 0, "\(arguments): \(result.standardError)")
        }
        secrets.insert(try await token())
        secrets.formUnion(issuer.livingRefreshTokens)
        #expect(try await agent.tokenctl("logout", "work").status == 0)
        try await logIn()
        secrets.insert(try await token())
        secrets.formUnion(issuer.livingRefreshTokens)
        return secrets
    }
}
