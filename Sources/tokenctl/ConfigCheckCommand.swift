// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// Has the agent's program read the configuration, and reports every mistake it finds.
struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration file."
    )

    @Option(help: ArgumentHelp("Check this file instead.", valueName: "file"))
    var config: String?

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard config?.isEmpty != true else { throw ValidationError("--config needs a path") }
    }

    func run() throws {
        var report = try report()
        let difference = report["ok"]?.bool == true ? difference(of: report["file"]?.string ?? "") : nil
        if let difference { report["agent"] = .strings(difference.differences) }
        let file = report["file"]?.string ?? ""
        let isGood = report["ok"]?.bool == true
        if agent.wantsJSON {
            try StandardOutput.json(.object(report))
        } else if isGood {
            let count = report["sessions"]?.integer ?? 0
            let line = "\(file): \(count) session\(count == 1 ? "" : "s"), no mistakes"
            try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
        }
        if let difference, !difference.differences.isEmpty, !agent.wantsJSON {
            try StandardOutput.line("the agent runs with another configuration; see: tokenctl reload")
            for line in difference.differences {
                try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
            }
        }
        guard isGood == false else { return }
        for problem in report["problems"]?.array?.compactMap(\.object) ?? [] {
            let line = ConfigCheckCommand.line(for: problem, in: file)
            StandardError.write("tokenctl: \(TerminalText.escaped(line, longest: 8192))\n")
        }
        throw ExitCode(FailureCode.misconfigured.exitStatus)
    }

    /// How the file differs from what the agent of the socket runs with; `nil`: none runs, it can not say, or it reads
    /// another file.
    private func difference(of file: String) -> ReloadReport? {
        var body = JSONBody()
        body.add("check", true)
        var endpoint = agent.endpoint
        endpoint.mayStartAgent = false
        let request = AgentRequest(.post, "reload", body: body.finished())
        guard let answer = try? endpoint.object(request, timeout: .seconds(10)) else { return nil }
        let report = ReloadReport(answer)
        return report.file == file ? report : nil
    }

    /// In the manner of a compiler: `FILE:LINE: KEY: MESSAGE`.
    private static func line(for problem: JSONObject, in file: String) -> String {
        let place = file + (problem["line"]?.integer.map { ":\($0)" } ?? "")
        return [place, problem["key"]?.string, problem["message"]?.string].compactMap(\.self)
            .joined(separator: ": ")
    }

    private func report() throws(AgentError) -> JSONObject {
        guard let program = AgentStarter.executable else {
            throw AgentError(.internal, "tokenagent is neither beside tokenctl nor in PATH")
        }
        var output = try Pipe()
        let messages = try Pipe()
        let child = try ChildProcess(
            program,
            ["--check-config", "--json"] + (config.map { ["--config", $0] } ?? []),
            output: .descriptor(output.writing),
            error: .descriptor(messages.writing)
        )
        output.closeWriting()
        let text = output.all()
        let status = child.wait()
        // A line about each session, and of those there may be thousands.
        if let report = try? JSONValue(parsing: text, maximumValues: .max).object { return report }
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        throw AgentError(
            isMisconfigured ? .misconfigured : .internal,
            AgentStarter.complaint(in: messages.available())
        )
    }
}
