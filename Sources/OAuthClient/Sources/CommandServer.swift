// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// A program in place of an authorization server.
package struct CommandSource: Equatable, Sendable {
    /// argv of the program that prints a token.
    package var command: [String]
    /// What a person does when the program wants a login, such as `az login`.
    package var loginRemedy: String?
    /// How long a token lives that says nothing of its end.
    package var assumedLifetime: Duration

    /// Short enough to be true nearly everywhere, and long enough not to run the program all the time.
    package static let usualLifetime = Duration.seconds(300)

    package init(
        command: [String],
        loginRemedy: String? = nil,
        assumedLifetime: Duration = CommandSource.usualLifetime
    ) {
        self.command = command
        self.loginRemedy = loginRemedy
        self.assumedLifetime = assumedLifetime
    }
}

/// Tokens that a program prints: kind `command`.
struct CommandServer: SourceServer {
    let profile: ServerProfile
    let source: CommandSource
    let tools: ServerDependencies

    var heldSecrets: [SecretID] { [] }

    var variantRefusal: String { "a command prints one token: no other scope or audience can be asked for" }
    var loginRemedy: String? { source.loginRemedy }

    /// Whoever made the token is not known here.
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome { .nothing }

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        let command = TokenCommand(
            source.command,
            key: "command",
            loginRemedy: source.loginRemedy
        )
        let printed = try await command.run(tools)
        let lifetime: Duration
        do throws(PrintedToken.Problem) {
            let now = tools.timekeeper.wallTime
            lifetime = try printed.lifetime(at: now, assumed: source.assumedLifetime)
        } catch {
            let message = "command: \(ServerText.cleaned(source.command[0])) \(error.message)"
            throw RefreshFailure(kind: .helperFailed, message: message)
        }
        return GrantedTokens(
            accessToken: try tools.memory.sealing(printed.token, as: .accessToken),
            lifetime: lifetime,
            // What it prints may be minutes old, so its life counts from now on.
            requestedAt: tools.timekeeper.now
        )
    }
}
