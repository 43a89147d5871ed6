// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// A notice on standard error about a long wait for the agent.
package enum WaitNotice {
    /// The subject of a wait.
    package enum Subject {
        /// A response of any kind. At a terminal only, after a second.
        case response
        /// A token, for a command that prints the output of another program. After five seconds.
        case token
        /// Another token after a rejection, for the same commands. After two seconds.
        case replacement
    }

    /// The signals that end a wait; while curl runs they are relayed to it.
    private static let endings = [SIGINT, SIGTERM, SIGHUP]

    /// Runs `body`, and prints a notice on standard error if that takes long.
    ///
    /// A signal handler prints the notice, because the wait itself blocks. The notice of an outer wait takes
    /// precedence.
    ///
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws.
    package static func during<Value: ~Copyable>(
        _ subject: Subject,
        _ body: () throws(AgentError) -> Value
    ) throws(AgentError) -> Value {
        guard subject != .response || isatty(STDERR_FILENO) == 1 else { return try body() }
        let pending = alarm(0)
        guard pending == 0 else {
            alarm(pending)
            return try body()
        }
        let delay: UInt32
        switch subject {
        case .response: (delay, _) = (1, signal(SIGALRM, sayResponse))
        case .token: (delay, _) = (5, signal(SIGALRM, sayToken))
        case .replacement: (delay, _) = (2, signal(SIGALRM, sayReplacement))
        }
        let before = subject == .response ? [] : endings.map(withoutHandler)
        alarm(delay)
        defer {
            alarm(0)
            for (number, action) in zip(endings, before) {
                var action = action
                unsafe sigaction(number, &action, nil)
            }
        }
        return try body()
    }

    private static let sayResponse: @convention(c) (Int32) -> Void = { _ in
        say("tokenctl: waiting for the agent\n")
    }

    private static let sayToken: @convention(c) (Int32) -> Void = { _ in
        say("tokenctl: waiting for a token\n")
    }

    private static let sayReplacement: @convention(c) (Int32) -> Void = { _ in
        say("tokenctl: the server rejected the token; waiting for a new one\n")
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
