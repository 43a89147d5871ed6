// SPDX-License-Identifier: MIT

/// The shell whose syntax is used to set a variable.
package enum ShellSyntax: Equatable, Sendable {
    case sh
    case csh
    case fish

    /// Chooses the syntax for the shell at `path`.
    ///
    /// As in ssh-agent, names ending in `csh` select ``csh``, and others ``sh``. The name `fish` selects
    /// ``fish``.
    package init(shell path: String?) {
        let name = path.map { $0.split(separator: "/").last ?? "" } ?? ""
        self = name.hasSuffix("csh") ? .csh : name == "fish" ? .fish : .sh
    }

    /// Returns the commands that set the variables for this agent, one per line.
    package func commands(socket: String, pid: Int32) -> String {
        set("TOKENAGENT_SOCK", socket) + set("TOKENAGENT_PID", "\(pid)")
    }

    /// The commands that unset the variables for this agent, one per line.
    package var forgettingCommands: String {
        unset("TOKENAGENT_SOCK") + unset("TOKENAGENT_PID")
    }

    private func unset(_ name: String) -> String {
        switch self {
        case .sh: "unset \(name);\n"
        case .csh: "unsetenv \(name);\n"
        case .fish: "set -e \(name);\n"
        }
    }

    private func set(_ name: String, _ value: String) -> String {
        let quoted = quoted(value)
        switch self {
        case .sh: return "\(name)=\(quoted); export \(name);\n"
        case .csh: return "setenv \(name) \(quoted);\n"
        case .fish: return "set -gx \(name) \(quoted);\n"
        }
    }

    /// Quotes `text` as one word, whatever it contains.
    func quoted(_ text: String) -> String {
        if text.utf8.allSatisfy(\.isPlainInEveryShell) { return text }
        switch self {
        case .sh: return "'" + text.replacing("'", with: "'\\''") + "'"
        // In csh, the history character works inside quotes too.
        case .csh: return "'" + text.replacing("'", with: "'\\''").replacing("!", with: "\\!") + "'"
        case .fish: return "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}

extension UInt8 {
    fileprivate var isPlainInEveryShell: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
