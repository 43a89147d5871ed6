// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// Looks at what surrounds the agent, for `tokenctl doctor`.
package protocol DiagnosticsProviding: Sendable {
    func checks() async -> [DiagnosticCheck]
}

/// The result of one look.
package struct DiagnosticCheck: Equatable, Sendable {
    /// What was looked at, in a few words.
    package var name: String
    package var verdict: CheckVerdict
    package var detail: String
    /// What to do about it.
    package var remedy: String?
    /// The sessions it is about; empty: it is about the agent.
    package var sessions: [SessionName]

    package init(
        name: String,
        verdict: CheckVerdict,
        detail: String,
        remedy: String? = nil,
        sessions: [SessionName] = []
    ) {
        self.sessions = sessions
        self.name = name
        self.verdict = verdict
        self.detail = detail
        self.remedy = remedy
    }
}
