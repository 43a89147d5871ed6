// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The option for the files with a fleet's keys.
struct FleetKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp("The key file of keepers; the file of readers is FILE.reader.", valueName: "file")
    )
    var path: String

    func validate() throws {
        guard !path.isEmpty else { throw ValidationError("--key-file requires a path") }
    }

    /// Makes `tokenagent` write the key files, because this program has no library for keys.
    ///
    /// - Parameter arguments: The option for the program, to which the path is added.
    /// - Returns: The description of the files.
    /// - Throws: ``AgentError`` if the files cannot be written.
    func written(by arguments: [String]) throws(AgentError) -> FleetKeyFilesMessage {
        let run = try TokenagentRun(arguments + [path])
        guard let message = run.answer.flatMap({ FleetKeyFilesMessage($0) }), run.status == 0 else {
            throw run.failure
        }
        return message
    }
}

extension WireMessage<FleetKeyFilesMembers> {
    /// The two files, each with a note about the hosts that get it.
    var files: String {
        """
          \(shown(self.keepersFile))
              for keepers, which use refresh tokens
          \(shown(self.readersFile))
              for readers, which can only decrypt access tokens
        """
    }

    /// Escapes text from `tokenagent` for a terminal.
    func shown(_ text: String?) -> String { TerminalText.escaped(text ?? "", longest: 8192) }
}
