// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// Passes signals on to a program that runs in the foreground in place of this one.
///
/// The program is in the same process group, so what the terminal sends reaches it anyway and is not sent twice. That
/// the terminal has gone, however, the kernel tells the leader of its session alone.
/// Stopping is left to the terminal and the shell; who continues this process alone means the program.
struct RelayedSignals: ~Copyable {
    private static let relayed = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT]
    /// What the kernel sends the leader of a session alone, when the terminal has gone.
    private static let ofHangup = [SIGHUP, SIGCONT]

    private let pipe: Pipe

    /// Catches the signals; one that this process ignores, as after nohup(1), stays ignored.
    init() throws(AgentError) {
        pipe = try Pipe()
        unsafe relayPipe = pipe.writing
        let isLeader = getsid(0) == getpid()
        for signal in RelayedSignals.relayed {
            var old = sigaction()
            unsafe sigaction(signal, nil, &old)
            guard unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) != 1 else {
                continue
            }
            var action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            unsafe action.__sigaction_handler.sa_sigaction =
                if isLeader, RelayedSignals.ofHangup.contains(signal) {
                    { signal, _, _ in relay(signal) }
                } else {
                    { signal, cause, _ in
                        // A code above zero means that the kernel sent it, to the whole group.
                        guard let cause = unsafe cause, unsafe cause.pointee.si_code <= 0 else { return }
                        relay(signal)
                    }
                }
            unsafe sigaction(signal, &action, nil)
        }
    }

    /// Becomes readable when there is something to pass on.
    var descriptor: Int32 { pipe.reading }

    /// Sends `child` the signals that have come.
    borrowing func pass(to child: ChildProcess) {
        for signal in pipe.available() { kill(child.pid, Int32(signal)) }
    }
}

/// Where the handlers write; they can reach nothing but a global.
nonisolated(unsafe) private var relayPipe: Int32 = -1

/// Writes down that `signal` came, as a handler may.
private func relay(_ signal: Int32) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = unsafe write(relayPipe, &byte, 1)
    errno = saved
}
