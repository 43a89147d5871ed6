// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `setup`, which configures another program to get its tokens from the agent, and undoes that.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Set up another program to get its tokens from the agent.",
        discussion: """
            Shows what it changes, changes nothing else, and checks with the program that the change works. \
            Never replaces what the user wrote: an error names the conflicting line.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The program: \(SetupClient.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "client"
        ),
        completion: .list(SetupClient.allCases.map(\.rawValue))
    )
    var clientName: String

    @Flag(name: .customLong("print"), help: "Show the changes, or what --undo removes, without making them.")
    var isShown = false

    @Flag(name: .customLong("undo"), help: "Undo the setup.")
    var isUndone = false

    @OptionGroup var options: SetupOptions

    @OptionGroup var agent: AgentEndpointOptions

    private var client: SetupClient {
        get throws(AgentError) {
            if let client = SetupClient(rawValue: clientName) { return client }
            let known = SetupClient.allCases.map(\.rawValue)
            throw AgentError(
                .badRequest,
                "no setup for \"\(TerminalText.escaped(clientName, longest: 64))\", only for "
                    + known.joined(separator: ", "),
                remedy: WordSuggestion.nearest(to: clientName, among: known)
                    .map { Remedy.run("tokenctl setup \($0)") } ?? .see("tokenagent-clients(7)")
            )
        }
    }

    func run() throws {
        let client = try client
        let plan = try ConfigurationRemedy.whereNotTakenOver(at: agent.endpoint) { () throws(AgentError) in
            try client.plan(try SetupRequest(options, agent.endpoint, isUndo: isUndone))
        }
        if isUndone { return try undo(plan) }
        if isShown { return try show(plan.changes, plan.notes) }
        var missing: [any SetupChange] = []
        // All changes are checked before the first is made.
        for change in plan.changes where try !change.isMade() {
            missing.append(change)
        }
        try show(missing, [])
        try missing.make { () throws(AgentError) in
            try confirm(missing)
            try check(plan)
        }
        try say(missing.isEmpty ? ["\(client.rawValue) is already set up"] : [])
        try say(plan.notes.map { "Note: \($0)" } + ["To undo, run: \(undoing)"])
    }

    private func show(_ changes: [any SetupChange], _ notes: [String]) throws(AgentError) {
        for change in changes { try say(try change.shownWithReplaced()) }
        try say(notes.map { "Note: \($0)" })
    }

    /// Checks again that the changes are made; programs that edit their own settings may have written others.
    private func confirm(_ changes: [any SetupChange]) throws(AgentError) {
        for change in changes where try !change.isMade() {
            throw AgentError(.internal, "the change was not found afterwards: \(change.shown.first ?? "")")
        }
    }

    /// Checks the settings with the program itself, if it is installed and reads this file.
    private func check(_ plan: SetupPlan) throws(AgentError) {
        guard options.file == nil else { return }
        let places = try ClientPaths()
        for check in plan.checks where places.program(check.command[0]) != nil {
            let run = try CompletedRun(check.command)
            guard run.status == 0, run.words.bytewise.contains(check.answer.bytewise) else {
                // The program's error messages may contain the expected text as part of something else.
                let told = try CompletedRun(check.command, withComplaints: true)
                let reason = told.status == 0 || told.words.isEmpty ? "" : " printed: \(told.words)"
                let words = "does not see the setting: \(check.command.joined(separator: " "))"
                throw AgentError(.internal, "nothing was changed: \(check.command[0]) \(words)\(reason)")
            }
            try say(["Checked with: \(check.command.joined(separator: " "))"])
        }
    }

    private func undo(_ plan: SetupPlan) throws(AgentError) {
        var isAny = false
        var notes: [String] = []
        for change in plan.changes.reversed() {
            let lines = try change.remnant()
            guard let first = lines.first else {
                notes += try change.unmarked()
                continue
            }
            isAny = true
            if isShown {
                try say(lines)
            } else {
                try change.undo()
                let place = first.hasSuffix(":") ? String(first.dropLast()) : first
                try say(["Undone: \(place)"])
            }
        }
        if !isAny { try say(["nothing to undo"]) }
        try say(notes.map { "Note: \($0)" })
    }

    /// The command that undoes the changes of this one.
    private var undoing: String {
        let given =
            [
                ("--session", options.session?.name), ("--name", options.name), ("--url", options.url),
                ("--file", options.file),
            ] + options.hosts.map { ("--host", $0) }
        let words = given.compactMap { option, value in value.map { "\(option) \(ShellWord.quoted($0))" } }
        let flags = options.wantsIDToken ? ["--id-token"] : []
        return (["tokenctl setup \(clientName) --undo"] + words + flags).joined(separator: " ")
    }

    private func say(_ lines: [String]) throws(AgentError) {
        for line in lines { try StandardOutput.line(PasteableLine.text(line)) }
    }
}
