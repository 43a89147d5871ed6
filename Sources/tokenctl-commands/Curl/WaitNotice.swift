// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Tells a person at the terminal, or a log, why nothing happens for a while.
enum WaitNotice {
    /// Seconds until a word is said of a refusal: the server's answer was there already.
    private static let shortPatience: UInt32 = 2
    /// Seconds until a word is said of a refresh, which takes a while at some servers.
    private static let patience: UInt32 = 5
    /// What ends a wait; while curl runs they are passed on to it.
    private static let endings = [SIGINT, SIGTERM, SIGHUP]

    /// Does `body`, and says on standard error that it waits for a token if that takes long.
    ///
    /// A signal says it: the wait itself blocks.
    ///
    /// - Parameters:
    ///   - isRefused: whether the server has just refused the token before.
    ///   - body: waits.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    static func whileWaiting<Value>(
        isRefused: Bool,
        _ body: () throws(AgentError) -> Value
    ) throws(AgentError) -> Value {
        _ = signal(SIGALRM, isRefused ? sayRefused : sayAwaited)
        let before = endings.map(withoutHandler)
        alarm(isRefused ? shortPatience : patience)
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

    /// Does nothing that a signal handler may not.
    private static func say(_ text: StaticString) {
        _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Has the signal end this process, unless it is ignored; returns what it did before.
    private static func withoutHandler(_ number: Int32) -> sigaction {
        var before = sigaction()
        unsafe sigaction(number, nil, &before)
        guard unsafe unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) != 1 else {
            return before
        }
        // A handler of zeros is the usual action.
        var usual = sigaction()
        unsafe sigaction(number, &usual, nil)
        return before
    }
}
