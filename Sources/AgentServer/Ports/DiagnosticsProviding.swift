// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// Looks at what surrounds the agent, for `tokenctl doctor` and `tokenctl add`.
package protocol DiagnosticsProviding: Sendable {
    func checks() async -> [DiagnosticCheck]

    /// What a server that no session uses yet offers.
    ///
    /// - Parameters:
    ///   - place: as a person wrote it.
    ///   - caFile: certificates of a private authority; `nil`: those of the system.
    /// - Returns: what it offers, in words of our own, or why a session could not use it.
    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ExaminationMessage, RequestFailure>
}

/// What is looked at before a session uses it.
package enum ProbeTarget: Equatable, Sendable {
    /// An issuer, and where its metadata are if its name does not lead there; without a name the document tells it.
    case issuer(String?, metadata: String? = nil)
    /// A protected resource, and the issuer to take of those that it names; `nil`: the first.
    case resource(String, issuer: String?)
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
