// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// Passes signals on to a program that runs in the foreground in place of this one.
///
/// The program is in the same process group, so what the terminal sends reaches it anyway and is not sent twice. That
/// the terminal has gone, however, the kernel tells the leader of its session alone. Nor is what the program itself sends
/// sent back to it: it has sent that to the whole group, or means this process alone.
/// Whether another process means the group the kernel does not tell, so then the program gets the signal twice.
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
                    { signal, cause, _ in unsafe relay(signal, cause) }
                } else {
                    { signal, cause, _ in
                        // A code above zero means that the kernel sent it, to the whole group.
                        guard let cause = unsafe cause, unsafe cause.pointee.si_code <= 0 else { return }
                        unsafe relay(signal, cause)
                    }
                }
            unsafe sigaction(signal, &action, nil)
        }
    }

    /// Becomes readable when there is something to pass on.
    var descriptor: Int32 { pipe.reading }

    /// Sends `child` the signals that others have sent.
    borrowing func pass(to child: ChildProcess) {
        let size = MemoryLayout<SentSignal>.size
        let bytes = pipe.available()
        for start in stride(from: 0, through: bytes.count - size, by: size) {
            let sent = unsafe bytes.withUnsafeBytes {
                unsafe $0.loadUnaligned(fromByteOffset: start, as: SentSignal.self)
            }
            if sent.sender != child.pid { kill(child.pid, sent.number) }
        }
    }
}

/// A signal on its way through the pipe, which takes it whole.
private struct SentSignal {
    var number: Int32
    /// The process that sent it by kill(2); 0: the kernel, or nobody knows.
    var sender: pid_t
}

/// Where the handlers write; they can reach nothing but a global.
nonisolated(unsafe) private var relayPipe: Int32 = -1

/// Writes down that `signal` came, as a handler may.
private func relay(_ signal: Int32, _ cause: UnsafeMutablePointer<siginfo_t>?) {
    let saved = errno
    var sent = SentSignal(number: signal, sender: 0)
    if let cause = unsafe cause, unsafe cause.pointee.si_code == SI_USER {
        sent.sender = unsafe cause.pointee._sifields._kill.si_pid
    }
    _ = unsafe write(relayPipe, &sent, MemoryLayout<SentSignal>.size)
    errno = saved
}
