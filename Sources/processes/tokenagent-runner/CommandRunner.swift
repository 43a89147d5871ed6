// SPDX-License-Identifier: MIT

import CHardening
import CommandExecution
import Confinement
import ExchangeGuard
import Glibc

/// Runs hooks and commands for the agent, which started this program and is at the other end of descriptor 3, and starts
/// itself anew to guard one exchange with a server.
///
/// A closure in `main` itself, or in top-level code, asks for the main actor, which brings all that runs Swift's
/// tasks into the program.
@main
enum CommandRunner {
    static func main() {
        if isGuard { guardExchange() } else { run() }
    }

    /// Whether this process was started to guard an exchange.
    private static var isGuard: Bool {
        guard let name = unsafe hardening_argument(0) else { return false }
        return unsafe String(cString: name) == ExchangeGuard.name
    }

    private static func run() {
        hardening_restore_environment()
        hardening_restore_crash_signals()
        guard hardening_fill_standard_descriptors() == 0, hardening_refuse_inspection() == 0 else { exit(1) }
        signal(SIGPIPE, SIG_IGN)
        // A service manager tells all processes of a service to stop; the agent still needs this one then.
        signal(SIGTERM, SIG_IGN)

        guard CommandRunnerServer.isAgent(at: CommandRunnerServer.agentDescriptor) else { refuse() }
        GuardStarter(
            door: GuardStarter.agentDescriptor,
            name: ExchangeGuard.name,
            descriptor: ExchangeGuard.agentDescriptor
        ).begin()
        CommandRunnerServer(
            socket: CommandRunnerServer.agentDescriptor,
            environment: CurrentProcess.current,
            source: (1..<max(1, hardening_argument_count())).map {
                unsafe String(cString: hardening_argument($0))
            }
        ).serve()
    }

    /// The agent's end, or that of whoever stops the agent, is not this process's end: an answer may be on its way.
    private static func guardExchange() {
        hardening_restore_crash_signals()
        for one in [SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT] { signal(one, SIG_IGN) }
        guard hardening_refuse_inspection() == 0, hardening_refuse_new_privileges() == 0,
            CommandRunnerServer.isAgent(at: ExchangeGuard.agentDescriptor)
        else { refuse() }
        _ = hardening_drop_capabilities()
        _ = Confinement.enter(FileRules(readable: [], writable: []))
        guard var exchange = ExchangeGuard(at: ExchangeGuard.agentDescriptor) else { return }
        exchange.serve()
    }

    private static func refuse() -> Never {
        let usage = Array("tokenagent-runner: started only by tokenagent\n".utf8)
        _ = unsafe write(STDERR_FILENO, usage, usage.count)
        exit(2)
    }
}
