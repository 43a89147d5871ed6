// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `config check`, in which `tokenagent` reads the configuration and reports all errors.
struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration file."
    )

    @Option(help: ArgumentHelp("Check this file instead.", valueName: "file"))
    var config: String?

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard config?.isEmpty != true else { throw ValidationError("--config requires a path") }
    }

    func run() throws {
        let pending = agent.endpoint.pendingReload
        var report = try ConfigurationReport(of: config, ofAgent: pending?.file)
        let difference = report.isGood ? difference(pending, of: report.file) : nil
        if let difference { report.message.agent = difference.differences }
        if agent.wantsJSON {
            try StandardOutput.json(report.message.json)
        } else if report.isGood {
            try StandardOutput.line(TerminalText.escaped(report.summary, longest: 8192))
            if report.message.sessions == 0 {
                try StandardOutput.line(SelectableSessions.remedy.indented)
            }
        }
        if let difference, !difference.differences.isEmpty, !agent.wantsJSON {
            try StandardOutput.line("the running agent uses an older configuration:")
            for line in difference.differences {
                try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
            }
            try StandardOutput.line(difference.remedy(at: agent.endpoint).indented)
        }
        guard !report.isGood else { return }
        for line in report.complaints {
            StandardError.write("tokenctl: \(TerminalText.escaped(line, longest: 8192))\n")
        }
        throw ExitCode(FailureCode.misconfigured.exitStatus)
    }

    /// Returns how the file differs from the configuration of the running agent, or `nil` if none runs or it
    /// uses another file.
    private func difference(_ pending: ReloadMessage?, of file: String) -> ReloadReport? {
        guard let pending else { return nil }
        let report = ReloadReport(message: pending)
        return report.file == file ? report : nil
    }
}
