// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// The program with every command, and the argument parser, that this one has not.
enum OtherCommands {
    private static let name = "tokenctl-commands"

    /// Becomes that program, with the words this one was started with; returns only if that is impossible.
    static func takeOver() -> AgentError {
        guard let program = InstalledProgram.path(name) else {
            return AgentError(
                .internal,
                "\(name) is missing beside tokenctl and in ../libexec/tokenagent, and alone tokenctl knows only get",
                remedy: "install it there, or use tokenctl-full in place of tokenctl"
            )
        }
        // What this process changed for itself is not for the next.
        hardening_restore_environment()
        unsafe execv(program, hardening_argument_list())
        return AgentError(.internal, "\(program) cannot be started: \(systemMessage(errno))")
    }
}
