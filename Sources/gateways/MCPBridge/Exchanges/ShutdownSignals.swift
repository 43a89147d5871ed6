// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The events that end the bridge apart from the end of its input: a signal, or a client that has closed the
/// output.
package final class ShutdownSignals: Sendable {
    private static let caught = [SIGINT, SIGTERM, SIGHUP]

    private let pipe: Pipe
    private let work = BlockingWork(threads: 1)

    /// Catches the signals from now on.
    package init() throws(AgentError) {
        pipe = try Pipe()
        unsafe endingPipe = pipe.writing
        for signal in ShutdownSignals.caught {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { signal in
                let saved = errno
                var byte = UInt8(truncatingIfNeeded: signal)
                _ = unsafe write(endingPipe, &byte, 1)
                errno = saved
            }
            unsafe sigaction(signal, &action, nil)
        }
    }

    /// Waits for an event and returns the exit status it causes.
    package func wait(watching output: Int32) async -> Int32 {
        let signals = pipe.reading
        let result = await work.result { () throws(AgentError) -> Int32 in
            // No events are requested for the output, because poll(2) always reports that its reader has
            // gone.
            var watched = [
                pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
                pollfd(fd: output, events: 0, revents: 0),
            ]
            while unsafe poll(&watched, 2, -1) < 0, errno == EINTR {}
            var signal: UInt8 = 0
            guard watched[0].revents != 0, unsafe read(signals, &signal, 1) == 1 else { return 0 }
            return 128 + Int32(signal)
        }
        return (try? result.get()) ?? 0
    }
}

/// The pipe that the handlers write to.
///
/// A signal handler can use only a global.
nonisolated(unsafe) private var endingPipe: Int32 = -1
