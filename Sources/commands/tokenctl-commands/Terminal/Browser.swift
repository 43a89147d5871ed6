// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The user's browser, for opening URLs.
enum Browser {
    /// Opens `address` with the programs of `$BROWSER`, then with `xdg-open` if there is a display.
    ///
    /// The URL is one argument of the program and never reaches a shell.
    ///
    /// - Returns: Whether a program was started.
    static func open(_ address: String) -> Bool {
        guard isSafe(address) else { return false }
        return commands(for: address).contains { command in
            guard let program = command.first else { return false }
            return (try? ChildProcess(program, Array(command.dropFirst()), output: .null, error: .null))
                != nil
        }
    }

    /// Returns whether `address` is an HTTP URL of visible ASCII; anything else could be an option or start
    /// another program.
    static func isSafe(_ address: String) -> Bool {
        (address.hasPrefix("https://") || address.hasPrefix("http://"))
            && address.utf8.allSatisfy {
                (0x21..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x27 && $0 != 0x5C
            }
    }

    /// Returns the command lines to try.
    ///
    /// `$BROWSER` is a list separated by colons, in which `%s` is replaced by the URL.
    static func commands(
        for address: String,
        environment: (String) -> String? = AgentPaths.variable
    ) -> [[String]] {
        let listed = (environment("BROWSER") ?? "").split(separator: ":").map { entry in
            let words = entry.split(separator: " ").map(String.init)
            guard words.contains("%s") else { return words + [address] }
            return words.map { $0 == "%s" ? address : $0 }
        }
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment($0)?.isEmpty == false }
        return listed + (hasDisplay ? [["xdg-open", address]] : [])
    }
}
