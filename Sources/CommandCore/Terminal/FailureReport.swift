// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Says on standard error, in one line, what failed and what to do about it.
package enum FailureReport {
    /// Most characters of a remedy: a command is none any more if it is cut, and it may name a thousand bytes of scopes.
    private static let longestRemedy = 4_500

    /// Prints `tokenctl: MESSAGE; REMEDY` and answers the exit status.
    ///
    /// With `asJSON` the failure goes to standard output as well, as the agent would write it.
    static func print(_ error: AgentError, asJSON: Bool) -> Int32 {
        if asJSON { try? StandardOutput.json(RefusalMessage { $0.error = message(for: error) }.json) }
        return tell(error)
    }

    /// Prints only the line, for callers that have printed any JSON already; answers the exit status.
    package static func tell(_ error: AgentError) -> Int32 {
        StandardError.write("tokenctl: " + line(for: error) + "\n")
        return error.code.exitStatus
    }

    package static func message(for error: AgentError) -> FailureMessage {
        FailureMessage {
            $0.code = error.code
            $0.message = error.message
            $0.session = error.session
            $0.remedy = error.suggestedRemedy
            $0.retryAfter = error.retryAfter?.components.seconds
        }
    }

    /// The line without the program's name.
    package static func line(for error: AgentError) -> String {
        var shown = error
        shown.message = TerminalText.escaped(error.message)
        shown.message = sentence(for: shown)
        shown.remedy = error.suggestedRemedy.map {
            TerminalText.escaped($0, longest: longestRemedy)
        }
        return shown.description
    }

    /// The message without its full stop, with the session's name in front unless the message says it.
    private static func sentence(for error: AgentError) -> String {
        let text = error.clause
        guard let session = error.session.map({ TerminalText.escaped($0, longest: 64) }) else { return text }
        // A name may be an ordinary word of the sentence: only in these places is it surely the name.
        let isTold =
            text.bytewise.hasPrefix("\(session): ".bytewise)
            || text.bytewise.contains("session named \"\(session)\"".bytewise)
            || text.bytewise.hasSuffix("session \(session)".bytewise)
        return isTold ? text : "\(session): \(text)"
    }
}
