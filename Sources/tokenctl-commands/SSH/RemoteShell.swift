// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// What is run on the other host, in words that the login shells of people read alike: those of sh, csh and fish.
enum RemoteShell {
    /// What stands before the path in the line that the keeper prints.
    private static let announcement = "tokenagent-ssh "
    /// The line that the keeper prints when nothing of it is left.
    private static let farewell = "tokenagent-ssh-end"
    /// Bytes of the longest path of a socket on any system that runs sshd (sockaddr_un of the BSDs).
    private static let longestSocket = 103

    /// Makes a new directory that only the user can enter, prints where a socket in it shall be, and removes the directory,
    /// with whatever programs there have put beside the socket, when nobody holds its input any more, or the connection is
    /// gone.
    ///
    /// What an earlier one left that was killed itself goes first: a directory of this user, which is no link, named
    /// for a process that is gone.
    static let keeper =
        "exec sh -c "
        + quoted(
            """
            umask 077; base=${XDG_RUNTIME_DIR:-/tmp}; [ -d "$base" ] && [ -w "$base" ] || base=/tmp; \
            [ -z "$(printf %s "$base" | tr -d "A-Za-z0-9/._-")" ] && [ ${#base} -le 60 ] || base=/tmp; \
            for left in "$base"/tokenagent-ssh.*; do pid=${left##*/tokenagent-ssh.}; \
            [ -O "$left" ] && [ ! -L "$left" ] && ! kill -0 "${pid%%.*}" 2>/dev/null && \
            rm -rf "$left"; done; \
            dir=$(mktemp -d "$base/tokenagent-ssh.$$.XXXXXXXXXX") || exit 1; \
            end() { rm -rf "$dir"; echo "\(farewell)" 2>/dev/null; }; \
            trap end EXIT; trap "exit 0" HUP INT TERM; \
            echo "\(announcement)$dir/sock"; while read -r line; do :; done
            """
        )

    /// Runs `command`, or a login shell, with the socket in its environment.
    ///
    /// sshd takes no variable from us unless its `AcceptEnv` names it. An agent is never started there: it would take
    /// the place of the socket.
    static func command(_ command: [String], socket: String) -> String {
        let environment = "exec env TOKENAGENT_SOCK=\(socket) TOKENAGENT_AUTOSTART=0"
        guard !command.isEmpty else { return environment + " \"$SHELL\" -l" }
        return environment + " \"$SHELL\" -c " + quoted(command.joined(separator: " "))
    }

    /// The path that the keeper has printed; what a login shell prints before it is skipped.
    static func socket(in output: [UInt8]) -> String? {
        for line in output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        where line.starts(with: announcement.utf8) {
            let path = line.dropFirst(announcement.utf8.count)
            if isPlain(path) { return String(decoding: path, as: UTF8.self) }
        }
        return nil
    }

    /// Whether the keeper has printed that nothing of it is left.
    static func hasEnded(in output: [UInt8]) -> Bool {
        output.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(farewell.utf8) }
    }

    /// Whether a path of another host can stand in a command and in a forwarding as it is.
    private static func isPlain(_ path: ArraySlice<UInt8>) -> Bool {
        let slash = UInt8(ascii: "/")
        return path.first == slash && path.count <= longestSocket
            && path.allSatisfy { $0.isUnreserved || $0 == slash }
    }

    /// One word for every shell: within quotes only fish gives a backslash a meaning, so it stands outside of them.
    static func quoted(_ text: String) -> String {
        var word = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'", "\\": word += "'\\\(scalar)'"
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }
}
