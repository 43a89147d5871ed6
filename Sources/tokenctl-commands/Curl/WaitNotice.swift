// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// A notice on standard error about a long wait for a token.
enum WaitNotice {
    /// The delay of the notice after a rejection, in seconds; the server's response has already arrived.
    private static let shortTimeout: UInt32 = 2
    /// The delay of the notice for a refresh, which is slow at some servers, in seconds.
    private static let timeout: UInt32 = 5
    /// The signals that end a wait; while curl runs they are relayed to it.
    private static let endings = [SIGINT, SIGTERM, SIGHUP]

    /// Runs `body`, and prints a notice on standard error if that takes long.
    ///
    /// A signal handler prints the notice, because the wait itself blocks.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the server has just rejected the previous token.
    ///   - body: The function that waits.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws.
    static func whileWaiting<Value>(
        isRefused: Bool,
        _ body: () throws(AgentError) -> Value
    ) throws(AgentError) -> Value {
        _ = signal(SIGALRM, isRefused ? sayRefused : sayAwaited)
        let before = endings.map(withoutHandler)
        alarm(isRefused ? shortTimeout : timeout)
        defer {
            alarm(0)
            for (number, action) in zip(endings, before) {
                var action = action
                unsafe sigaction(number, &action, nil)
            }
        }
        return try body()
    }

    private static let sayRefused: @convention(c) (Int32) -> Void = { _ in
        say("tokenctl: the server refused the token; waiting for a new one\n")
    }

    private static let sayAwaited: @convention(c) (Int32) -> Void = { _ in
        say("tokenctl: waiting for a token\n")
    }

    /// Prints `text`, using only what is safe in a signal handler.
    private static func say(_ text: StaticString) {
        _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Restores the default action of the signal unless it is ignored.
    ///
    /// - Returns: The previous action.
    private static func withoutHandler(_ number: Int32) -> sigaction {
        var before = sigaction()
        unsafe sigaction(number, nil, &before)
        guard unsafe unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) != 1 else {
            return before
        }
        // A zeroed action is the default action.
        var usual = sigaction()
        unsafe sigaction(number, &usual, nil)
        return before
    }
}
