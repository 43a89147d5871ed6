// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A program that provides tokens instead of an authorization server.
package struct CommandSource: Equatable, Sendable {
    /// The argument vector of the program that prints a token.
    package var command: [String]
    /// The command that logs in to the program, such as `az login`, or `nil` if none is configured.
    package var loginRemedy: String?
    /// The lifetime of a token that states no expiry.
    package var assumedLifetime: Duration

    /// The default lifetime: short enough to be true nearly everywhere, and long enough to run the program
    /// rarely.
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

/// A server of kind `command`: a program that prints tokens.
struct CommandServer: LoginlessServer {
    let profile: ServerProfile
    let source: CommandSource
    let tools: ServerDependencies

    var heldSecrets: [SecretID] { [] }

    var variantRefusal: String { "kind command does not support scopes or audiences" }
    var loginRemedy: Remedy? { source.loginRemedy.map { Remedy.run($0) } }

    /// Does nothing, because the issuer of the token is unknown.
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome { .nothing }

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        let command = TokenCommand(
            source.command,
            key: "command",
            loginRemedy: loginRemedy
        )
        let printed = try await command.run(tools)
        let lifetime: Duration
        do throws(PrintedToken.OutputError) {
            let now = tools.timekeeper.wallTime
            lifetime = try printed.lifetime(at: now, assumed: source.assumedLifetime)
        } catch {
            let message = "command: \(ServerText.cleaned(source.command[0])) \(error.message)"
            throw RefreshFailure(kind: .helperFailed, message: message)
        }
        return GrantedTokens(
            accessToken: try tools.memory.sealing(printed.token, as: .accessToken),
            lifetime: lifetime,
            // The printed lifetime counts from now, because the output may be minutes old.
            requestedAt: tools.timekeeper.now
        )
    }
}
