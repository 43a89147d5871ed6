// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// An option of ssh with its value, if it takes one.
struct SSHOption: Equatable {
    let letter: Character
    let value: String?

    /// The option as words of a command line.
    var words: [String] { ["-\(letter)"] + [value].compactMap(\.self) }
}

/// The arguments for ssh, parsed like ssh(1) does: options, a host, more options, a command.
struct SSHArguments: Equatable {
    /// The host for ssh and for the audit log, in visible ASCII.
    let host: String
    let options: [SSHOption]
    /// The words of the command, which ssh joins with blanks, or empty for a shell.
    let command: [String]

    /// The options of OpenSSH 9 without a value; ``valued`` has those with one.
    private static let flags = "1246aknqtvxACgKTXYy"
    private static let valued = "bcDeEFiIJlLmopPRwB"
    /// The options with which no shell or command could use the tokens, or that need a separate connection.
    private static let refused = "fGMNOQsSVW"
    /// The maximum number of bytes of a host: a DNS name with a user and a port.
    private static let maximumHostLength = 320

    init(_ words: [String]) throws(AgentError) {
        var rest = words[...]
        let before = try SSHArguments.options(&rest)
        guard let host = rest.popFirst() else { throw AgentError(.badRequest, "missing host") }
        guard host.utf8.count <= SSHArguments.maximumHostLength, host.utf8.isVisibleWord, !host.hasPrefix("-")
        else {
            throw AgentError(.badRequest, "the host must be a name of visible ASCII characters: \(host)")
        }
        self.host = host
        options = try before + SSHArguments.options(&rest)
        command = Array(rest)
    }

    /// Parses the options at the beginning of `rest`, as getopt(3) does.
    private static func options(_ rest: inout ArraySlice<String>) throws(AgentError) -> [SSHOption] {
        var options: [SSHOption] = []
        while let word = rest.first, word.hasPrefix("-"), word != "-" {
            rest.removeFirst()
            guard word != "--" else { break }
            var letters = word.dropFirst()
            while let letter = letters.popFirst() {
                guard !refused.contains(letter) else {
                    throw AgentError(
                        .badRequest,
                        "tokenctl ssh does not support -\(letter)",
                        remedy: .retry("without -\(letter)")
                    )
                }
                guard valued.contains(letter) else {
                    guard flags.contains(letter) else {
                        throw AgentError(
                            .badRequest,
                            "unknown ssh option -\(letter)",
                            remedy: .retry("without -\(letter)")
                        )
                    }
                    options.append(SSHOption(letter: letter, value: nil))
                    continue
                }
                guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
                    throw AgentError(.badRequest, "-\(letter) requires a value")
                }
                options.append(SSHOption(letter: letter, value: value))
                letters = ""
            }
        }
        return options
    }
}
