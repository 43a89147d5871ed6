// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The report of an error on standard error: a line with the error, and a line with its remedy.
package enum FailureReport {
    /// The maximum number of characters of a remedy.
    ///
    /// A truncated command does not work, and a command may contain a thousand bytes of scopes.
    private static let maximumRemedyLength = 4_500

    /// Prints `tokenctl: MESSAGE` on standard error, and the remedy on a second line.
    ///
    /// With `asJSON` the error is also written to standard output, as the agent would write it.
    ///
    /// - Returns: The exit status.
    static func print(_ error: AgentError, asJSON: Bool) -> Int32 {
        if asJSON { try? StandardOutput.json(ErrorResponseMessage { $0.error = message(for: error) }.json) }
        return tell(error)
    }

    /// Prints only the lines on standard error, for callers that have already printed JSON.
    ///
    /// - Returns: The exit status.
    @discardableResult
    package static func tell(_ error: AgentError) -> Int32 {
        let shown = shown(error)
        let remedy = shown.remedy.map { "\($0.indented)\n" } ?? ""
        StandardError.write("tokenctl: \(shown.clause)\n\(remedy)")
        return error.code.exitStatus
    }

    /// Converts an error to the message that the agent would send for it.
    package static func message(for error: AgentError) -> FailureMessage {
        FailureMessage {
            $0.code = error.code
            $0.message = error.message
            $0.session = error.session
            $0.remedy = error.suggestedRemedy
            $0.retryAfter = error.retryAfter?.components.seconds
        }
    }

    /// Returns `error` in one line, without the program's name: `MESSAGE (run: COMMAND)`.
    package static func line(for error: AgentError) -> String { shown(error).description }

    /// Returns `error` as the terminal shows it: escaped, with the session in the message.
    private static func shown(_ error: AgentError) -> AgentError {
        var shown = error
        shown.message = TerminalText.escaped(error.message)
        shown.message = sentence(for: shown)
        shown.remedy = error.suggestedRemedy.map {
            Remedy($0.kind, TerminalText.escaped($0.text, longest: maximumRemedyLength))
        }
        return shown
    }

    /// Returns the message without its full stop, after the session's name unless the message contains it.
    private static func sentence(for error: AgentError) -> String {
        let text = error.clause
        guard let session = error.session.map({ TerminalText.escaped($0, longest: 64) }) else { return text }
        // A name may also be an ordinary word: only in these positions is the word certainly the session's
        // name.
        let isTold =
            text.bytewise.hasPrefix("\(session): ".bytewise)
            || text.bytewise.contains("session named \"\(session)\"".bytewise)
            || text.bytewise.hasSuffix("session \(session)".bytewise)
        return isTold ? text : "\(session): \(text)"
    }
}
