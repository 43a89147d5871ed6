// SPDX-License-Identifier: MIT

import CHardening
import CommandExecution
import Glibc

/// Runs hooks and commands for the agent, which started this program and is at the other end of descriptor 3.
///
/// A closure in `main` itself, or in top-level code, asks for the main actor, which brings all that runs Swift's
/// tasks into the program.
@main
enum CommandRunner {
    static func main() {
        run()
    }

    private static func run() {
        hardening_restore_environment()
        hardening_restore_crash_signals()
        guard hardening_fill_standard_descriptors() == 0, hardening_refuse_inspection() == 0 else { exit(1) }
        signal(SIGPIPE, SIG_IGN)

        guard CommandRunnerProcess.isAgent(at: CommandRunnerProcess.agentDescriptor) else {
            let usage = Array("tokenagent-runner: this program is started by tokenagent, not by hand\n".utf8)
            _ = unsafe write(STDERR_FILENO, usage, usage.count)
            exit(2)
        }
        CommandRunnerProcess(
            socket: CommandRunnerProcess.agentDescriptor,
            environment: ProcessEnvironment.current,
            source: (1..<max(1, hardening_argument_count())).map {
                unsafe String(cString: hardening_argument($0))
            }
        ).serve()
    }
}
