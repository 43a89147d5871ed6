// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// One login under way: the connection that follows it, and the question it waits for.
struct LoginUnderWay {
    var session: SessionName
    var connection: Connection
    var task: Task<Void, Never>?
    /// What was asked last and is not answered yet.
    var question: (kind: LoginQuestion.Kind, answer: CheckedContinuation<SecretID, any Error>)?
    /// Everything the person has given so far, to be erased at the end.
    var given: [SecretID] = []

    /// Writes one line of progress.
    func tell(_ line: JSONObject) {
        connection.stream(JSONValue.object(line).serialized + [.lineFeed])
    }
}

/// The person's end of a login, as the authorization client sees it.
struct SocketConversation: LoginConversing {
    let agent: SessionAgent
    let number: LoginNumber

    func tell(_ step: LoginStep) async {
        await tell(step, in: agent)
    }

    private func tell(_ step: LoginStep, in agent: isolated SessionAgent) {
        agent.requests.logins.tell(step, in: number)
    }

    func ask(_ question: LoginQuestion) async throws -> SecretID {
        try await ask(question, in: agent)
    }

    private func ask(_ question: LoginQuestion, in agent: isolated SessionAgent) async throws -> SecretID {
        try await agent.requests.logins.ask(question, in: number)
    }
}

extension LoginStep {
    /// The line of progress that says it.
    func line(in login: LoginNumber) -> JSONObject {
        var line = JSONObject()
        switch self {
        case .openURL(let url, let redirectURI):
            line["event"] = "open_url"
            line["login"] = .string(String(login.rawValue))
            line["url"] = .string(url)
            line["redirect_uri"] = redirectURI.map { .string($0) }
        case .userCode(let code, let verificationURI, let complete, let expiresIn):
            line["event"] = "user_code"
            line["login"] = .string(String(login.rawValue))
            line["user_code"] = .string(code)
            line["verification_uri"] = .string(verificationURI)
            line["verification_uri_complete"] = complete.map { .string($0) }
            line["expires_in"] = .integer(expiresIn.wholeSeconds)
        }
        return line
    }
}

extension LoginQuestion {
    func line(in login: LoginNumber) -> JSONObject {
        var line = JSONObject()
        line["event"] = "need"
        line["login"] = .string(String(login.rawValue))
        line["kind"] = .string(kind.rawValue)
        line["prompt"] = .string(prompt)
        line["secret"] = .bool(isSecret)
        return line
    }
}
