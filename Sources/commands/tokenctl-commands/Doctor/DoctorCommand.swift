// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `doctor`, which looks for problems that prevent tokens from being served.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for problems and print their remedies.",
        discussion: "Every line begins with ok, warning or problem. Exit status 1 if there is a problem."
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        StandardOutput.endWithReader()
        let findings = Doctor(endpoint: agent.endpoint).findings()
        if agent.wantsJSON {
            let report = DoctorMessage { $0.checks = findings.map(\.wire) }
            try StandardOutput.json(report.json)
        } else {
            for finding in findings { try StandardOutput.line(finding.line) }
        }
        if findings.contains(where: { $0.verdict == .problem }) { throw ExitCode(1) }
    }
}
