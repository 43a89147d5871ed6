// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// Checks of the agent's environment, for `tokenctl doctor` and `tokenctl add`.
package protocol DiagnosticsProviding: Sendable {
    func checks() async -> [DiagnosticCheck]

    /// Probes a server that no session uses yet.
    ///
    /// - Parameters:
    ///   - place: The server as the user typed it.
    ///   - caFile: The certificates of a private CA, or `nil` for the system's.
    /// - Returns: The server's capabilities in the agent's own words, or the reason a session could not use
    ///   it.
    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ServerProbeMessage, RequestFailure>
}

/// A server to be probed before a session uses it.
package enum ProbeTarget: Equatable, Sendable {
    /// An issuer, with the address of its metadata if it does not follow from the issuer; `nil` takes the
    /// issuer from that document.
    case issuer(String?, metadata: String? = nil)
    /// A protected resource, with the issuer to use of those it names; `nil` uses the first.
    case resource(String, issuer: String?)
}

/// The result of one check.
package struct DiagnosticCheck: Equatable, Sendable {
    /// The subject of the check in a few words.
    package var name: String
    package var verdict: CheckVerdict
    package var detail: String
    /// The user's next step.
    package var remedy: Remedy?
    /// The sessions concerned, or empty if the check concerns the agent.
    package var sessions: [SessionName]

    package init(
        name: String,
        verdict: CheckVerdict,
        detail: String,
        remedy: Remedy? = nil,
        sessions: [SessionName] = []
    ) {
        self.sessions = sessions
        self.name = name
        self.verdict = verdict
        self.detail = detail
        self.remedy = remedy
    }
}
