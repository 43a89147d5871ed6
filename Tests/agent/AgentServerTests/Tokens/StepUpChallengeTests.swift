// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import AgentServer

/// The requirements of a resource for a login, and which of them are accepted and shown.
struct StepUpChallengeTests {
    @Test(.holds("195")) func `what the standards define is understood`() {
        let scope = StepUpChallenge(
            status: 403,
            #"Bearer realm="x", error="insufficient_scope", scope="a b:c""#
        )
        #expect(scope?.scope == "a b:c" && scope?.contextClasses == nil && scope?.maximumAge == nil)
        let login = StepUpChallenge(
            status: 401,
            #"DPoP error="insufficient_user_authentication", acr_values="phr mfa", max_age=20"#
        )
        #expect(login?.contextClasses == "phr mfa" && login?.maximumAge == 20 && login?.scope == nil)
        #expect(
            StepUpChallenge(status: 401, #"Bearer error="insufficient_user_authentication""#)?.maximumAge == 0
        )
    }

    @Test(arguments: [
        (401, #"Bearer error="insufficient_scope", scope="a""#), (403, #"Bearer error="insufficient_scope""#),
        (403, #"Bearer error="insufficient_scope", scope="""#),
        (403, #"Basic error="insufficient_scope", scope="a""#),
        (403, #"Bearer error="invalid_token", scope="a""#), (403, "Bearer"), (403, ""),
        (403, "Bearer error=\"insufficient_scope\", scope=\"a\u{1B}[31m\""),
        (401, #"Bearer error="insufficient_user_authentication", max_age="-1""#),
        (401, #"Bearer error="insufficient_user_authentication", max_age="99999999999""#),
        (401, #"Bearer error="insufficient_user_authentication", acr_values="é""#),
        (403, #"Bearer error="insufficient_scope", scope="a --password-stdin""#),
    ])
    func `anything else is no wish`(status: Int64, challenge: String) {
        #expect(StepUpChallenge(status: status, challenge) == nil)
    }

    @Test func `more than a person would copy is no wish`() {
        func wish(_ scope: String) -> StepUpChallenge? {
            StepUpChallenge(status: 403, "Bearer error=\"insufficient_scope\", scope=\"\(scope)\"")
        }
        #expect(wish(Array(repeating: "s", count: 20).joined(separator: " ")) != nil)
        #expect(wish(Array(repeating: "s", count: 21).joined(separator: " ")) == nil)
        #expect(wish(String(repeating: "s", count: 1_000)) != nil)
        #expect(wish(String(repeating: "s", count: 1_001)) == nil)
    }
}
