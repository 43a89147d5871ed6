// SPDX-License-Identifier: MIT

import ServerSettings

@testable import AgentSettings

/// The settings of a configuration file with `text`.
func read(_ text: String) throws(ConfigurationProblems) -> Settings {
    try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml")
}

/// The messages for `text`, or none when it is accepted.
func complaints(_ text: String) -> [String] {
    do throws(ConfigurationProblems) {
        _ = try read(text)
        return []
    } catch {
        return error.lines
    }
}
