// SPDX-License-Identifier: MIT

import AgentSettings
import ServerSettings

/// A file is read, or refused with lines that it has.
func fuzzConfiguration(_ bytes: [UInt8]) {
    let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
    do throws(ConfigurationProblems) {
        let settings = try SettingsReader(home: "/home/me").read(bytes, file: "config.toml")
        precondition(settings.sessions.count <= bytes.count / 12, "more sessions than anybody wrote")
    } catch {
        precondition(!error.problems.isEmpty, "refused without a reason")
        precondition(error.problems.allSatisfy { (1...lines).contains($0.line ?? 1) }, "a line it has not")
    }
}
