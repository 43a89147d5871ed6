// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

extension SessionAgent {
    /// Longest a `reauth_command` may take; a fingerprint reader waits for a finger.
    private static let commandLimit = Duration.seconds(60)

    /// Logs in again without a person, trying `ways` in their order until one works.
    func reauthenticate(_ number: LoginNumber, _ ways: [SilentLogin], account: String?, for name: SessionName)
    {
        inFlight += 1
        Task {
            var outcome = LoginOutcome.cancelled
            for way in ways {
                guard phase == .working else { break }
                outcome = await logIn(way, account: account, name)
                if case .granted = outcome { break }
            }
            inFlight -= 1
            silentLoginFinished(number, outcome, for: name)
            noteProgress()
        }
    }

    private func silentLoginFinished(_ number: LoginNumber, _ outcome: LoginOutcome, for name: SessionName) {
        let jitter = ports.chance()
        apply(name) { session, moment in
            session.silentLoginFinished(number, outcome, jitter: jitter, at: moment)
        }
    }

    private func logIn(_ way: SilentLogin, account: String?, _ name: SessionName) async -> LoginOutcome {
        switch way {
        case .clientCredentials:
            let request = LoginRequest(flow: .clientCredentials)
            return await ports.authorization.logIn(name, request, conversation: NobodyThere())
        case .command:
            do {
                let secret = try await commandOutput(name)
                defer { erase(secret) }
                let request = LoginRequest(flow: .password, username: account, secret: secret)
                return await ports.authorization.logIn(name, request, conversation: NobodyThere())
            } catch let failure as RefreshFailure {
                return .failed(failure)
            } catch {
                return .cancelled
            }
        }
    }

    /// What the session's `reauth_command` prints, without its line end, sealed.
    private func commandOutput(_ name: SessionName) async throws -> SecretID {
        guard let command = sessions[name]?.settings.reauthCommand, !command.isEmpty else {
            throw RefreshFailure(kind: .misconfigured, message: "no reauth_command is configured")
        }
        var output: [UInt8]
        do throws(CommandFailure) {
            let result = try await ports.commands.run(command, environment: [:], timeLimit: Self.commandLimit)
            guard result.status == 0 else {
                let message = "reauth_command ended with status \(result.status)"
                throw CommandFailure(message: message)
            }
            output = result.standardOutput
        } catch {
            throw RefreshFailure(kind: .interactionRequired, message: error.message)
        }
        while output.last == .lineFeed || output.last == .carriageReturn { output.removeLast() }
        defer { for index in output.indices { output[index] = 0 } }
        let vault = ports.vault
        return try unsafe output.withUnsafeBytes { try unsafe vault.seal($0, as: .password) }
    }
}

/// A login nobody watches: there is no one to show anything to or to ask.
private struct NobodyThere: LoginConversing {
    func tell(_ step: LoginStep) async {}

    func ask(_ question: LoginQuestion) async throws -> SecretID {
        throw CancellationError()
    }
}
