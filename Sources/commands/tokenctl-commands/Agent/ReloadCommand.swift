// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `reload`, which makes the agent read its configuration again.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration and print the changes.",
        discussion: """
            A configuration with an error changes nothing. An error in a file of sessions.d is printed and leaves \
            its session unchanged. Exit status 2 if there is an error, 1 if a change takes effect only after a \
            restart of the agent.
            """
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let answer: ReloadMessage = try agent.endpoint.message(AgentRequest(.post, "reload"))
        if agent.wantsJSON {
            try StandardOutput.json(answer.json)
        } else {
            for line in ReloadReport(message: answer).lines {
                try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
            }
        }
        let mistakes = answer.mistakes ?? []
        for line in mistakes {
            StandardError.write("tokenctl: \(TerminalText.escaped(line, longest: 8192))\n")
        }
        guard mistakes.isEmpty else { throw ExitCode(FailureCode.misconfigured.exitStatus) }
        let late = answer.restart?.count ?? 0
        guard late > 0 else { return }
        StandardError.write(
            "tokenctl: \(late) change\(late == 1 ? " takes" : "s take") effect only after a restart of the agent\n"
                + "\(agent.endpoint.restart.indented)\n"
        )
        throw ExitCode(FailureCode.internal.exitStatus)
    }
}

/// The changes that a reload has made, or would make.
struct ReloadReport {
    let message: ReloadMessage

    /// The configuration file that the agent uses.
    var file: String { message.file ?? "" }

    /// Returns the command that applies the differences to the agent at `endpoint`.
    func remedy(at endpoint: AgentEndpoint) -> Remedy {
        let changes = [message.added, message.removed, message.changed]
        return changes.allSatisfy { $0?.isEmpty != false } ? endpoint.restart : .run("tokenctl reload")
    }

    /// The lines for all differences, and for changes that only a restart applies.
    var differences: [String] {
        let kinds = [("added", message.added), ("removed", message.removed), ("changed", message.changed)]
        let changes = kinds.flatMap { kind, keys in
            (keys ?? []).map { "\(TextTable.padded(kind, to: 8)) \($0)" }
        }
        let late = (message.restart ?? []).map { item in
            "requires a restart of the agent: \(item.key ?? ""): \(item.reason ?? "")"
        }
        return changes + late
    }

    var lines: [String] {
        let count = message.sessions ?? 0
        let summary = "\(file): \(count) session\(count == 1 ? "" : "s")"
        return differences.isEmpty ? ["\(summary), no changes"] : [summary] + differences
    }
}

extension AgentEndpoint {
    /// The running agent's description of itself, or `nil` if none runs.
    var runningAgent: AgentMessage? {
        var endpoint = self
        endpoint.mayStartAgent = false
        return try? endpoint.message(AgentRequest(.get), timeout: .seconds(10))
    }

    /// The command that restarts the running agent, see ``restart(of:)``.
    var restart: Remedy { restart(of: runningAgent) }

    /// Returns the command that restarts `agent`: the one that it names, that of the unit for its socket, or one that
    /// stops it, after which the next command starts it.
    func restart(of agent: AgentMessage?) -> Remedy {
        if let command = agent?.restartCommand { return .run(command) }
        let unit = (try? socketPath).flatMap(AgentPaths.systemUnit)
        return .run(unit.map { "systemctl restart \($0)" } ?? "tokenctl shutdown")
    }

    /// The differences between the configuration and that of the running agent, or `nil` if none runs or it
    /// cannot report them.
    var pendingReload: ReloadMessage? {
        var body = AgentRequestBody<ReloadRequestMembers>()
        body.add(\.check, true)
        var endpoint = self
        endpoint.mayStartAgent = false
        let request = AgentRequest(.post, "reload", body: body.finished())
        return try? endpoint.message(request, timeout: .seconds(10))
    }
}
