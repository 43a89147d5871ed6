// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

extension AgentError {
    /// Returns the error and remedy if a server requires a stronger login than the session has.
    ///
    /// The remedy contains text from a server, and users paste commands. So each part is in single quotes,
    /// and there are few parts.
    package static func stepUp(_ challenge: RejectionReportMessage, of session: String) -> AgentError {
        var command = "tokenctl login \(challenge.source ?? session)"
        if let scope = challenge.scope { command += " --scope \(ShellWord.quoted(scope))" }
        if let classes = challenge.contextClasses { command += " --acr \(ShellWord.quoted(classes))" }
        if let age = challenge.maximumAge { command += " --max-age \(age)s" }
        return AgentError(
            .loginRequired,
            challenge.scope == nil
                ? "the server requires the user to log in again"
                : "the server requires more scopes than the token has",
            session: session,
            remedy: .run(command)
        )
    }
}
