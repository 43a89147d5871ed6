// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Tells a person at the terminal, or a log, why nothing happens for a while.
enum WaitNotice {
    /// What is over within a second needs no word.
    private static let patience: UInt32 = 2
    /// What ends a wait; while curl runs they are passed on to it.
    private static let endings = [SIGINT, SIGTERM, SIGHUP]

    /// Does `body`, and says on standard error that it waits for another token if that takes long.
    ///
    /// A signal says it: the wait itself blocks.
    static func whileWaiting<Value>(
        for body: () throws(AgentError) -> Value
    ) throws(AgentError) -> Value {
        _ = signal(SIGALRM) { _ in
            let text: StaticString = "tokenctl: the server refused the token; waiting for a new one\n"
            _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
        }
        let before = endings.map(withoutHandler)
        alarm(patience)
        defer {
            alarm(0)
            for (number, action) in zip(endings, before) {
                var action = action
                unsafe sigaction(number, &action, nil)
            }
        }
        return try body()
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
