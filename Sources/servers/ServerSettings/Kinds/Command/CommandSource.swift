// SPDX-License-Identifier: MIT

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

extension CommandSource: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: command.first ?? "")
    }

    package var purpose: [String]? { command }

    package var commands: [[String]] { [command] }
}
