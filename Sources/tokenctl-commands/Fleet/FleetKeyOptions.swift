// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The files with a fleet's keys.
struct FleetKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp("The keepers' file; that of readers is FILE.reader.", valueName: "file")
    )
    var path: String

    func validate() throws {
        guard !path.isEmpty else { throw ValidationError("--key-file needs a path") }
    }

    /// What the agent's program has written to the files: this one has no library for keys.
    ///
    /// - Throws: ``AgentError`` if it could not.
    func written(by arguments: [String]) throws(AgentError) -> FleetKeyMessage {
        let run = try AgentProgramRun(arguments + [path])
        guard let message = run.answer.flatMap({ FleetKeyMessage($0) }), run.status == 0 else {
            throw run.failure
        }
        return message
    }
}

extension WireMessage<FleetKeyMembers> {
    /// The two files, each with a word on who gets it.
    var files: String {
        """
          \(shown(self.keepersFile))
              for keepers, which use refresh tokens
          \(shown(self.readersFile))
              for readers, which open access tokens only
        """
    }

    /// A text of the program's, for a terminal.
    func shown(_ text: String?) -> String { TerminalText.escaped(text ?? "", longest: 8192) }
}
