// SPDX-License-Identifier: MIT

/// The keys of kind `command`.
extension TableReader {
    /// Reads the program, or returns `nil` with the reasons in the problem list.
    mutating func commandSource() -> CommandSource? {
        if !has("command") {
            report("command", "required: program that prints a token, with its arguments")
        }
        let words = command("command")
        let remedy = string("login_remedy")
        let year = Duration.seconds(365 * 86_400)
        let life = duration("expires_in", in: .seconds(1)...year, "1s to 365d")
        return words.map {
            CommandSource(
                command: $0,
                loginRemedy: remedy,
                assumedLifetime: life ?? CommandSource.usualLifetime
            )
        }
    }
}
