// SPDX-License-Identifier: MIT

import CommandCore

/// Options for what ssh_config(5) says of a host and would leave no shell or command there, as `-N`, `-n` and `-f` do.
///
/// Only what is set is overruled: before 8.7 ssh does not know these options, and would end.
struct SSHOverruling {
    /// For what keeps the directory there, which also needs its input.
    let ofKeeper: [String]
    /// For the shell or command.
    let ofShell: [String]

    /// Asks ssh what it has read; if it fails, it will say why when it connects.
    init(_ arguments: SSHArguments) {
        let settings = SSHOverruling.settings(for: arguments)
        func words(_ option: String, _ value: String) -> [String] {
            let isSet = settings.contains { $0.key == option.lowercased() && $0.value != value }
            return isSet ? ["-o", "\(option)=\(value)"] : []
        }
        ofShell = words("SessionType", "default") + words("ForkAfterAuthentication", "no")
        ofKeeper = ofShell + words("StdinNull", "no")
    }

    /// The settings that ssh prints, by their names in lower case.
    private static func settings(for arguments: SSHArguments) -> [(key: Substring, value: Substring)] {
        // With one command, and no more: ssh prints nothing where it would refuse to go on.
        let words =
            ["-G", "-o", "RemoteCommand=none"] + arguments.options.flatMap(\.words)
            + ["--", arguments.host, "true"]
        guard var output = try? Pipe(),
            let child = try? ChildProcess("ssh", words, output: .descriptor(output.writing), error: .null)
        else { return [] }
        output.closeWriting()
        let lines = String(decoding: output.all(), as: UTF8.self).split(separator: "\n")
        guard child.wait() == 0 else { return [] }
        return lines.compactMap { line in
            let words = line.split(separator: " ", maxSplits: 1)
            return words.count == 2 ? (words[0], words[1]) : nil
        }
    }
}
