// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The result of one check of `tokenctl doctor`.
struct Finding {
    let verdict: CheckVerdict
    let name: String
    let detail: String
    let remedy: Remedy?

    init(_ verdict: CheckVerdict, _ name: String, _ detail: String, remedy: Remedy? = nil) {
        self.verdict = verdict
        self.name = name
        self.detail = detail
        self.remedy = remedy
    }

    /// Converts a check of the agent, or returns `nil` if it has no name.
    init?(_ check: CheckMessage) {
        guard let name = check.name else { return nil }
        self.init(check.verdict ?? .problem, name, check.detail ?? "", remedy: check.remedy)
    }

    var line: String {
        let label = TextTable.padded(verdict.rawValue, to: 7)
        let advice = verdict == .ok ? "" : remedy.map { " \($0.parenthesized)" } ?? ""
        return TerminalText.escaped("\(label)  \(name): \(detail)\(advice)")
    }

    var wire: CheckMessage {
        CheckMessage {
            $0.name = name
            $0.verdict = verdict
            $0.detail = detail
            $0.remedy = remedy
        }
    }
}
