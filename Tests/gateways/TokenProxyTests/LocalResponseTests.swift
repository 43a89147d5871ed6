// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import TestSupport
import Testing
import Text

@testable import TokenProxy

/// Responses of the proxy while the agent provides no token.
@Suite struct LocalResponseTests {
    @Test(
        arguments: [
            (.loginRequired, 403, "tokenctl login work"), (.locked, 423, "tokenctl unlock"),
            (.temporarilyUnavailable, 503, "in 7s"), (.noAgent, 503, "in 7s"),
        ] as [(FailureCode, Int, String)]
    )
    func `a problem says what to do about it`(code: FailureCode, status: Int, remedy: String) {
        let error = AgentError(code, "no token", session: "work", retryAfter: .seconds(7))
        let answer = LocalResponse(error)
        let problem = (try? JSONValue(parsing: answer.body))?.object
        #expect(answer.status == status && answer.contentType == "application/problem+json")
        #expect(problem?["remedy"]?.string == remedy)
        #expect(answer.fields.contains { $0.name == "Retry-After" && $0.value == "7" } == (status == 503))
    }

    @Test(
        .holds("230"),
        arguments: [
            (.loginRequired, nil, "403 Login required (run: tokenctl login work)"),
            (.locked, nil, "423 Locked (run: tokenctl unlock)"),
            (.noAgent, nil, "503 Service Unavailable (retry: in 1s)"),
            (.loginRequired, "enter\r\nX: y", "403 Forbidden"), (.loginRequired, "Café", "403 Forbidden"),
            (.loginRequired, String(repeating: "x", count: 300), "403 Forbidden"),
        ] as [(FailureCode, String?, String)]
    )
    func `the reason phrase names the remedy, if a line can hold it`(
        code: FailureCode,
        remedy: String?,
        line: String
    ) {
        let answer = LocalResponse(
            AgentError(code, "no token", session: "work", remedy: remedy.map { .run($0) })
        )
        let bytes = String(buffer: answer.bytes(withoutBody: false, keepsAlive: true))
        #expect(bytes.hasPrefix("HTTP/1.1 \(line)\r\n"), "\(bytes)")
        // After a 401, git, wget and pip prompt the user for a password.
        #expect(!bytes.contains("WWW-Authenticate"))
    }

    @Test(arguments: FailureCode.allCases, [true, false])
    func `no failure makes a program ask the person for a password`(code: FailureCode, isForGit: Bool) {
        for message in ["no token", "", "two\r\nlines", "Café"] {
            let answer = LocalResponse(AgentError(code, message, session: "work"), isForGit: isForGit)
            #expect(answer.status >= 400 && ![401, 407].contains(answer.status))
            for isHead in [true, false] {
                let bytes = String(buffer: answer.bytes(withoutBody: isHead, keepsAlive: false))
                let head = bytes.split(separator: "\r\n\r\n", maxSplits: 1)[0]
                #expect(!head.bytewise.lowercased.contains("authenticate"))
                #expect(head.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x0D || $0 == 0x0A })
                #expect(head.contains("\r\nContent-Length: \(answer.body.count)\r\n"))
                #expect(bytes.hasSuffix("\r\n\r\n") == (isHead || answer.body.isEmpty))
            }
        }
    }

    @Test(.holds("230")) func `git is told in plain text, which it shows`() {
        let answer = LocalResponse(
            AgentError(.loginRequired, "not logged in", session: "work"),
            isForGit: true
        )
        #expect(answer.status == 403 && answer.contentType.hasPrefix("text/plain"))
        #expect(answer.body == Array("not logged in\nRun: tokenctl login work\n".utf8))
    }

    @Test func `a remedy of the agent's own stands`() {
        let error = AgentError(.temporarilyUnavailable, "no network", remedy: .run("plug it in"))
        let problem = (try? JSONValue(parsing: LocalResponse(error).body))?.object
        #expect(problem?["remedy"]?.string == "plug it in")
    }

    @Test(arguments: [nil, .zero, .milliseconds(300)] as [Duration?])
    func `a wait that nobody knows, or that is over, is a second`(wait: Duration?) {
        let answer = LocalResponse(AgentError(.temporarilyUnavailable, "no token", retryAfter: wait))
        let problem = (try? JSONValue(parsing: answer.body))?.object
        #expect(problem?["remedy"]?.string == "in 1s")
        #expect(answer.fields.map(\.value) == ["1"])
    }
}
