// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// Signals that end or stop a program, converted to bytes in a pipe while this value exists.
struct CaughtSignals: ~Copyable {
    /// The signals that a user sends at a terminal, and its hangup.
    static let ofTerminal = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    /// The signals that a service manager sends.
    static let ofService = [SIGINT, SIGTERM, SIGHUP]

    private let pipe: Pipe
    private var former: [(signal: Int32, action: sigaction)] = []

    init(_ caught: [Int32] = CaughtSignals.ofTerminal) throws(AgentError) {
        pipe = try Pipe()
        unsafe signalPipe = pipe.writing
        for signal in caught {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { signal in
                let saved = errno
                var byte = UInt8(truncatingIfNeeded: signal)
                _ = unsafe write(signalPipe, &byte, 1)
                errno = saved
            }
            var old = sigaction()
            unsafe sigaction(signal, &action, &old)
            former.append((signal, old))
        }
    }

    deinit {
        for (signal, action) in former {
            var action = action
            unsafe sigaction(signal, &action, nil)
        }
        unsafe signalPipe = -1
    }

    /// Waits until `descriptor` is readable or a signal arrives.
    ///
    /// - Returns: The signals, or an empty array if none arrived.
    borrowing func wait(for descriptor: Int32) -> [Int32] {
        var wanted = [
            pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&wanted, 2, -1) < 0, errno == EINTR {}
        guard wanted[0].revents != 0 else { return [] }
        return pipe.available().map(Int32.init)
    }
}

/// The pipe of the signal handlers, which can access only globals.
nonisolated(unsafe) private var signalPipe: Int32 = -1
