// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The commands for the other host, in syntax common to the login shells sh, csh and fish.
enum RemoteShell {
    /// The prefix of the line with the path that the keeper prints.
    private static let announcement = "tokenagent-ssh "
    /// The line that the keeper prints after it has removed everything.
    private static let endMarker = "tokenagent-ssh-end"
    /// The maximum number of bytes of a socket path on any system that runs sshd (sockaddr_un of the BSDs).
    private static let maximumSocketLength = 103

    /// The keeper: a script that creates a private directory, prints the path of a socket in it, and removes
    /// the directory.
    ///
    /// The script removes the directory, with all files that programs have created in it, when its input ends
    /// or the connection is lost.
    /// First it removes directories that killed keepers have left: directories of this user that are not
    /// links and are named after a process that no longer exists.
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
            end() { rm -rf "$dir"; echo "\(endMarker)" 2>/dev/null; }; \
            trap end EXIT; trap "exit 0" HUP INT TERM; \
            echo "\(announcement)$dir/sock"; while read -r line; do :; done
            """
        )

    /// Returns the command line that runs `command`, or a login shell, with the socket in its environment.
    ///
    /// sshd accepts a variable from a client only if its `AcceptEnv` names it. No agent may be started there,
    /// because it would take the place of the socket.
    static func command(_ command: [String], socket: String) -> String {
        let environment = "exec env TOKENAGENT_SOCK=\(socket) TOKENAGENT_AUTOSTART=0"
        guard !command.isEmpty else { return environment + " \"$SHELL\" -l" }
        return environment + " \"$SHELL\" -c " + quoted(command.joined(separator: " "))
    }

    /// Returns the path that the keeper has printed, or `nil`; output of a login shell before it is skipped.
    static func socket(in output: [UInt8]) -> String? {
        for line in output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        where line.starts(with: announcement.utf8) {
            let path = line.dropFirst(announcement.utf8.count)
            if isPlain(path) { return String(decoding: path, as: UTF8.self) }
        }
        return nil
    }

    /// Returns whether the keeper has printed that everything is removed.
    static func hasEnded(in output: [UInt8]) -> Bool {
        output.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(endMarker.utf8) }
    }

    /// Returns whether a path of the other host can be used unquoted in a command and in a forwarding.
    private static func isPlain(_ path: ArraySlice<UInt8>) -> Bool {
        let slash = UInt8(ascii: "/")
        return path.first == slash && path.count <= maximumSocketLength
            && path.allSatisfy { $0.isUnreserved || $0 == slash }
    }

    /// Quotes `text` as one word for all shells.
    ///
    /// Only fish interprets a backslash within quotes, so backslashes are outside of them.
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
