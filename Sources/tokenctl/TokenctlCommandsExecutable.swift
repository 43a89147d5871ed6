// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// The program `tokenctl-commands`, which has every command but `get`, and the argument parser.
enum TokenctlCommandsExecutable {
    private static let name = "tokenctl-commands"

    /// Replaces this process with `tokenctl-commands` and the same arguments.
    ///
    /// - Returns: The error, if the program is not installed or cannot be executed; otherwise it does not
    ///   return.
    static func execReplacement() -> AgentError {
        guard let program = InstalledProgram.path(name) else {
            return AgentError(
                .internal,
                "\(name) not found: only \"tokenctl get\" works without it",
                remedy: .retry("after installing \(name) next to tokenctl or in ../libexec/tokenagent")
            )
        }
        // The environment changes that this process made for itself must not reach the next program.
        hardening_restore_environment()
        unsafe execv(program, hardening_argument_list())
        return AgentError(.internal, "cannot start \(program): \(systemMessage(errno))")
    }
}
