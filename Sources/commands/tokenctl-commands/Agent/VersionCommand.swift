// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `version`, which prints the version of this program and of a running agent.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of tokenctl and of the running agent."
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var endpoint = agent.endpoint
        endpoint.mayStartAgent = false
        let answer: AgentMessage? = try? endpoint.message(AgentRequest(.get), timeout: .seconds(5))
        let version = answer?.version
        if agent.wantsJSON {
            let value: JSONValue = [
                "tokenctl": .string(AgentRelease.version),
                "tokenagent": version.map(JSONValue.string) ?? .null,
                "api": .integer(AgentRelease.apiVersion),
            ]
            return try StandardOutput.json(value)
        }
        try StandardOutput.line("tokenctl \(AgentRelease.version)")
        guard let version else { return }
        let pid = answer?.pid.map { ", running as process \($0)" } ?? ""
        try StandardOutput.line("tokenagent \(TerminalText.escaped(version))\(pid)")
    }
}
