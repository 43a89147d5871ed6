// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A login without the user: with the client's own credentials, or with a command's output.
struct NoninteractiveLoginAttempt {
    /// The maximum run time of a `reauth_command`; it is long because a fingerprint reader waits for the
    /// user.
    private static let commandLimit = Duration.seconds(30)

    private let name: SessionName
    private let account: String?
    private let present: PreviousLogin?
    private let command: [String]
    private let ports: AgentPorts
    private let phase: AgentPhase
    private let erasure: DeferredSecretErasure

    /// Prepares a login with the session's known `account`, or `nil` if none is known.
    init(
        of kept: SessionEntry,
        account: String?,
        ports: AgentPorts,
        phase: AgentPhase,
        erasure: DeferredSecretErasure
    ) {
        name = kept.session.name
        self.account = account
        present = kept.session.currentLogin
        command = kept.settings.reauthCommand
        self.ports = ports
        self.phase = phase
        self.erasure = erasure
    }

    /// Tries `ways` in order.
    ///
    /// - Returns: The outcome of the first successful one, or a failure with the reasons of all.
    func outcome(of ways: [NoninteractiveLoginMethod]) async -> LoginOutcome {
        var reasons: [String] = []
        var kind = FailureClass.interactionRequired
        func note(_ failure: RefreshFailure) {
            // If one of the ways may work soon, the login is retried, regardless of the others.
            if kind.consequences.prospect != .soon { kind = failure.kind }
        }
        for way in ways {
            guard phase.current == .working else { return .cancelled }
            switch await logIn(way) {
            case .granted(let grant): return .granted(grant)
            case .failed(let failure):
                reasons.append("\(way.rawValue): \(failure.message)")
                note(failure)
            case .cancelled: reasons.append("\(way.rawValue): the server requires the user")
            }
        }
        guard phase.current == .working else { return .cancelled }
        let message = ServerText.cleaned(reasons.joined(separator: "; "))
        return .failed(RefreshFailure(kind: kind, message: message))
    }

    private func logIn(_ way: NoninteractiveLoginMethod) async -> LoginOutcome {
        switch way {
        case .clientCredentials:
            let request = LoginRequest(
                flow: .clientCredentials,
                isUnattended: true,
                present: present
            )
            return await ports.authorization.logIn(name, request, conversation: NoninteractivePrompter())
        case .command:
            do throws(RefreshFailure) {
                return try await logInWithCommand()
            } catch {
                return .failed(error)
            }
        }
    }

    private func logInWithCommand() async throws(RefreshFailure) -> LoginOutcome {
        let (secret, isAssertion) = try await commandOutput()
        defer { erasure.erase(secret) }
        guard isAssertion || account != nil else {
            let message = "no user name is known before the first login with flow password"
            throw RefreshFailure(kind: .interactionRequired, message: message)
        }
        let request = LoginRequest(
            flow: .password,
            username: account,
            secret: secret,
            isAssertion: isAssertion,
            isUnattended: true,
            present: present
        )
        return await ports.authorization.logIn(name, request, conversation: NoninteractivePrompter())
    }

    /// Runs `reauth_command` and seals its output without line ends.
    ///
    /// - Returns: The secret, and whether it is a signed token.
    private func commandOutput() async throws(RefreshFailure) -> (SecretID, Bool) {
        var output = try await runCommand()
        defer { for index in output.indices { output[index] = 0 } }
        while output.last == .lineFeed || output.last == .carriageReturn { output.removeLast() }
        guard !output.isEmpty else {
            throw RefreshFailure(kind: .helperFailed, message: "reauth_command printed nothing")
        }
        let memory = ports.memory
        do {
            let secret = try unsafe output.withUnsafeBytes { try unsafe memory.seal($0, as: .password) }
            return (secret, SignedTokenSyntax.looksLike(output))
        } catch {
            let message = "cannot store the output of reauth_command"
            throw RefreshFailure(kind: .interactionRequired, message: message)
        }
    }

    private func runCommand() async throws(RefreshFailure) -> [UInt8] {
        guard !command.isEmpty else {
            throw RefreshFailure(kind: .misconfigured, message: "no reauth_command is configured")
        }
        do throws(CommandFailure) {
            return try await ports.secretCommands.output(of: command, within: Self.commandLimit)
        } catch {
            throw RefreshFailure(error, of: "reauth_command")
        }
    }
}

/// A check that distinguishes a signed token from a password.
enum SignedTokenSyntax {
    /// Returns whether `text` consists of three base64url parts separated by dots, the first a JSON object
    /// (RFC 7515 §7.1).
    static func looksLike(_ text: [UInt8]) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && text.starts(with: "eyJ".utf8)
            && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isBase64URL) }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-_".utf8.contains(byte)
    }
}

/// The user's side of a login without the user: it shows no steps and answers no prompts.
private struct NoninteractivePrompter: LoginPrompting {
    func tell(_ step: LoginMessage) async {}

    func ask(_ question: LoginInputPrompt) async throws -> SecretID {
        throw CancellationError()
    }

    func whenEnded(_ show: @escaping @Sendable (LoginResultForBrowser) -> Void) async {}
}
