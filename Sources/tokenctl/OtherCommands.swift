// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// The program `tokenctl-commands`, which has every command but `get`, and the argument parser.
enum OtherCommands {
    private static let name = "tokenctl-commands"

    /// Replaces this process with `tokenctl-commands` and the same arguments.
    ///
    /// - Returns: The error, if the program is not installed or cannot be executed; otherwise it does not
    ///   return.
    static func takeOver() -> AgentError {
        guard let program = InstalledProgram.path(name) else {
            return AgentError(
                .internal,
                "\(name) is missing beside tokenctl and in ../libexec/tokenagent, and alone tokenctl knows only get",
                remedy: "install it there, or use tokenctl-full in place of tokenctl"
            )
        }
        // The environment changes that this process made for itself must not reach the next program.
        hardening_restore_environment()
        unsafe execv(program, hardening_argument_list())
        return AgentError(.internal, "\(program) cannot be started: \(systemMessage(errno))")
    }
}
