// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// The keys of sessions whose tokens come from something else than a login.
extension SessionReader {
    /// Kind `command`.
    mutating func command() -> CommandSource? {
        if !table.has("command") {
            table.report("command", "is missing: the program that prints a token, with its arguments")
        }
        let command = table.command("command")
        let remedy = table.string("login_remedy")
        let year = Duration.seconds(365 * 86_400)
        let life = table.duration("expires_in", in: .seconds(1)...year, "1s to 365d")
        return command.map {
            CommandSource(
                command: $0,
                loginRemedy: remedy,
                assumedLifetime: life ?? CommandSource.usualLifetime
            )
        }
    }

    /// Refuses keys about a login that the session does not have.
    mutating func refuseLoginKeys() {
        for key in ["max_session_age", "warn_before"] where table.has(key) {
            table.report(key, "is never used: the session has no login of its own")
        }
    }
}
