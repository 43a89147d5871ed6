// SPDX-License-Identifier: MIT

import CommandCore

/// The options that override settings of ssh_config(5) with the effect of `-N`, `-n` or `-f`.
///
/// Such settings would leave no shell or command on the host. An option is passed only if its setting is
/// there, because ssh before 8.7 does not support these options and would fail.
struct SSHSettingOverrides {
    /// The options for the keeper of the remote directory, which also needs its standard input.
    let ofKeeper: [String]
    /// The options for the shell or command.
    let ofShell: [String]

    /// Reads the settings from ssh; if that fails, ssh reports the reason when it connects.
    init(_ arguments: SSHArguments) {
        let settings = SSHSettingOverrides.settings(for: arguments)
        func words(_ option: String, _ value: String) -> [String] {
            let isSet = settings.contains { $0.key == option.lowercased() && $0.value != value }
            return isSet ? ["-o", "\(option)=\(value)"] : []
        }
        ofShell = words("SessionType", "default") + words("ForkAfterAuthentication", "no")
        ofKeeper = ofShell + words("StdinNull", "no")
    }

    /// Returns the settings that ssh prints, by their names in lower case.
    private static func settings(for arguments: SSHArguments) -> [(key: Substring, value: Substring)] {
        // Pass exactly one command, because ssh prints nothing for arguments that it would reject.
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
