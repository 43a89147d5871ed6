// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Tells a person at the terminal, or a log, why nothing happens for a while.
enum WaitNotice {
    /// What is over within a second needs no word.
    private static let patience: UInt32 = 2

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
        alarm(patience)
        defer { alarm(0) }
        return try body()
    }
}
