// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The relay of signals to a program that runs in the foreground in place of this one.
///
/// The program is in the same process group, so signals of the terminal reach it directly and are not sent
/// twice. But after a hangup of the terminal the kernel notifies only the session leader. Signals from the
/// program itself are not sent back to it: it sent them to the whole group, or only to this process.
/// The kernel does not report whether another process signals the whole group, so the program then gets the
/// signal twice. Stopping is left to the terminal and the shell. A process that continues only this process
/// means the program.
struct RelayedSignals: ~Copyable {
    private static let relayed = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT]
    /// The signals that the kernel sends only to the session leader after a hangup of the terminal.
    private static let ofHangup = [SIGHUP, SIGCONT]

    private let pipe: Pipe

    /// Installs the handlers; a signal that this process ignores, as after nohup(1), stays ignored.
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
                        // A positive code means that the kernel sent the signal, to the whole group.
                        guard let cause = unsafe cause, unsafe cause.pointee.si_code <= 0 else { return }
                        unsafe relay(signal, cause)
                    }
                }
            unsafe sigaction(signal, &action, nil)
        }
    }

    /// The descriptor that becomes readable when there are signals to relay.
    var descriptor: Int32 { pipe.reading }

    /// Sends `child` the signals that other processes have sent.
    borrowing func pass(to child: ChildProcess) {
        let size = MemoryLayout<SignalAndSender>.size
        let bytes = pipe.available()
        for start in stride(from: 0, through: bytes.count - size, by: size) {
            let sent = unsafe bytes.withUnsafeBytes {
                unsafe $0.loadUnaligned(fromByteOffset: start, as: SignalAndSender.self)
            }
            if sent.sender != child.pid { kill(child.pid, sent.number) }
        }
    }
}

/// A signal in the pipe, which transfers it atomically.
private struct SignalAndSender {
    var number: Int32
    /// The process that sent the signal by kill(2), or 0 for the kernel or an unknown sender.
    var sender: pid_t
}

/// The pipe of the signal handlers, which can access only globals.
nonisolated(unsafe) private var relayPipe: Int32 = -1

/// Writes `signal` to the pipe, using only what is safe in a signal handler.
private func relay(_ signal: Int32, _ cause: UnsafeMutablePointer<siginfo_t>?) {
    let saved = errno
    var sent = SignalAndSender(number: signal, sender: 0)
    if let cause = unsafe cause, unsafe cause.pointee.si_code == SI_USER {
        sent.sender = unsafe cause.pointee._sifields._kill.si_pid
    }
    _ = unsafe write(relayPipe, &sent, MemoryLayout<SignalAndSender>.size)
    errno = saved
}
