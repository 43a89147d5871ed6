// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing
import Text

@testable import TokenProxy

/// What the agent says in place of a token.
@Suite struct OwnAnswerTests {
    @Test(
        arguments: [
            (.loginRequired, 401, "tokenctl login work"), (.locked, 423, "tokenctl unlock"),
            (.temporarilyUnavailable, 503, "try again in 7s"), (.noAgent, 503, "try again in 7s"),
        ] as [(FailureCode, Int, String)]
    )
    func `a problem says what to do about it`(code: FailureCode, status: Int, remedy: String) {
        let error = AgentError(code, "no token", session: "work", retryAfter: .seconds(7))
        let answer = OwnAnswer(error)
        let problem = (try? JSONValue(parsing: answer.body))?.object
        #expect(answer.status == status && answer.contentType == "application/problem+json")
        #expect(problem?["remedy"]?.string == remedy)
        #expect(answer.fields.contains { $0.name == "Retry-After" && $0.value == "7" } == (status == 503))
    }

    @Test func `a remedy of the agent's own stands`() {
        let error = AgentError(.temporarilyUnavailable, "no network", remedy: "plug it in")
        let problem = (try? JSONValue(parsing: OwnAnswer(error).body))?.object
        #expect(problem?["remedy"]?.string == "plug it in")
    }

    @Test(arguments: [nil, .zero, .milliseconds(300)] as [Duration?])
    func `a wait that nobody knows, or that is over, is a second`(wait: Duration?) {
        let answer = OwnAnswer(AgentError(.temporarilyUnavailable, "no token", retryAfter: wait))
        let problem = (try? JSONValue(parsing: answer.body))?.object
        #expect(problem?["remedy"]?.string == "try again in 1s")
        #expect(answer.fields.map(\.value) == ["1"])
    }
}
