// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// One login under way: the connection that follows it, and the question that waits for an answer.
struct ActiveLogin {
    var session: SessionName
    var connection: Connection
    var task: Task<Void, Never>?
    /// What was asked last and is not answered yet.
    var question: (kind: LoginPrompt.Kind, answer: CheckedContinuation<SecretID, any Error>)?
    /// Everything the person has given so far, to be erased at the end.
    var given: [SecretID] = []
    /// Its last line is on the way.
    var hasEnded = false
    /// Shows the person's browser how the login ended.
    var show: (@Sendable (LoginEnding) -> Void)?

    /// Writes one line of progress.
    func tell(_ line: LoginProgress) {
        connection.stream(line.json.serialized + [.lineFeed])
    }
}

/// The person's end of a login, as the authorization client sees it.
struct SocketLoginPrompter: LoginPrompting {
    let agent: SessionAgent
    let number: LoginNumber

    func tell(_ step: LoginStep) async {
        await tell(step, in: agent)
    }

    private func tell(_ step: LoginStep, in agent: isolated SessionAgent) {
        agent.requests.logins.tell(step, in: number)
    }

    func ask(_ question: LoginPrompt) async throws -> SecretID {
        try await ask(question, in: agent)
    }

    private func ask(_ question: LoginPrompt, in agent: isolated SessionAgent) async throws -> SecretID {
        try await agent.requests.logins.ask(question, in: number)
    }

    func whenEnded(_ show: @escaping @Sendable (LoginEnding) -> Void) async {
        await whenEnded(show, in: agent)
    }

    private func whenEnded(
        _ show: @escaping @Sendable (LoginEnding) -> Void,
        in agent: isolated SessionAgent
    ) {
        agent.requests.logins.whenEnded(number, show, in: agent)
    }
}

extension LoginStep {
    /// The line of progress for this step.
    func line(in login: LoginNumber) -> LoginProgress {
        switch self {
        case .openURL(let url, let redirectURI):
            let message = OpenURLMessage {
                $0.login = String(login.rawValue)
                $0.url = url
                $0.redirectURI = redirectURI
                $0.expiresIn = Self.browserTimeout.wholeSeconds
            }
            return .openURL(message)
        case .serverFound(let server, let scopes):
            return .notice(NoticeMessage { $0.message = Self.sentence(server, scopes) })
        case .userCode(let code, let verificationURI, let complete, let expiresIn):
            let message = UserCodeMessage {
                $0.login = String(login.rawValue)
                $0.userCode = code
                $0.verificationURI = verificationURI
                $0.completeURI = complete
                $0.expiresIn = expiresIn.wholeSeconds
            }
            return .userCode(message)
        case .notice(let text): return .notice(NoticeMessage { $0.message = text })
        }
    }
}

extension LoginStep {
    /// What a person should know before the login goes on.
    fileprivate static func sentence(_ server: DiscoveredServer, _ scopes: [String]) -> String {
        let asked = scopes.isEmpty ? "no scopes" : "the scopes \(scopes.joined(separator: " "))"
        return
            "\(ServerText.cleaned(server.resource ?? "the configuration", limit: 300)) sends you to \(ServerText.cleaned(server.issuer, limit: 300)) "
            + "and asks for \(ServerText.cleaned(asked, limit: 1_000))"
    }
}

extension LoginPrompt {
    func line(in login: LoginNumber) -> LoginProgress {
        let message = PromptMessage {
            $0.login = String(login.rawValue)
            $0.kind = kind.rawValue
            $0.prompt = prompt
            $0.isSecret = isSecret
        }
        return .need(message)
    }
}
