// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// An active login: the connection that follows it, and its open prompt.
struct ActiveLogin {
    var session: SessionName
    var connection: Connection
    /// The scopes and other requirements in addition to the settings, or `nil`.
    var stepUp: StepUp?
    var task: Task<Void, Never>?
    /// The prompt that has not been answered yet.
    var question: (kind: LoginInputPrompt.Kind, answer: CheckedContinuation<SecretID, any Error>)?
    /// All secrets that the user has entered so far; they are erased at the end.
    var given: [SecretID] = []
    /// Whether the login has ended and its last line will be sent.
    var hasEnded = false
    /// The action that shows the end of the login in the user's browser.
    var show: (@Sendable (LoginResultForBrowser) -> Void)?

    /// Sends a progress line.
    func tell(_ line: LoginProgress) {
        connection.stream(line.json.serialized + [.lineFeed])
    }
}

/// The user's side of a login, for the authorization client.
struct SocketLoginPrompter: LoginPrompting {
    let logins: LoopConfined<Logins>
    let number: LoginNumber

    func tell(_ step: LoginMessage) async {
        await logins.run { [number] logins, _ in logins.tell(step, in: number) }
    }

    func ask(_ question: LoginInputPrompt) async throws -> SecretID {
        try await logins.run { [number] logins, _ in try await logins.ask(question, in: number) }
    }

    func whenEnded(_ show: @escaping @Sendable (LoginResultForBrowser) -> Void) async {
        await logins.run { [number] logins, _ in logins.whenEnded(number, show) }
    }
}

extension LoginMessage {
    /// Returns the progress line of this step.
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

extension LoginMessage {
    /// Returns the notice about the discovered server and the requested scopes, shown before the login
    /// continues.
    fileprivate static func sentence(_ server: DiscoveredServer, _ scopes: [String]) -> String {
        let asked = scopes.isEmpty ? "no scopes" : "the scopes \(scopes.joined(separator: " "))"
        return
            "\(ServerText.cleaned(server.resource ?? "the configuration", limit: 300)) sends you to \(ServerText.cleaned(server.issuer, limit: 300)) "
            + "and asks for \(ServerText.cleaned(asked, limit: 1_000))"
    }
}

extension LoginInputPrompt {
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
