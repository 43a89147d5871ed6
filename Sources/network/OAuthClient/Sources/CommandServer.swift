// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

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
