// SPDX-License-Identifier: MIT

import Text

/// What one check of `tokenctl doctor` found.
struct Finding {
    enum Verdict: String {
        case ok
        case warning
        case problem
    }

    let verdict: Verdict
    let name: String
    let detail: String
    let remedy: String?

    init(_ verdict: Verdict, _ name: String, _ detail: String, remedy: String? = nil) {
        self.verdict = verdict
        self.name = name
        self.detail = detail
        self.remedy = remedy
    }

    /// A check the agent made: `ok` is true, false or `"warning"`.
    init?(_ object: JSONObject) {
        guard let name = object["name"]?.string else { return nil }
        let verdict: Verdict =
            switch object["ok"] {
            case .bool(true): .ok
            case .string: .warning
            default: .problem
            }
        self.init(verdict, name, object["detail"]?.string ?? "", remedy: object["remedy"]?.string)
    }

    var line: String {
        let label = TextTable.padded(verdict.rawValue, to: 7)
        let advice = verdict == .ok ? "" : remedy.map { "; \($0)" } ?? ""
        return TerminalText.escaped("\(label)  \(name): \(detail)\(advice)")
    }

    var json: JSONValue {
        [
            "name": .string(name), "ok": verdict == .warning ? "warning" : .bool(verdict == .ok),
            "detail": .string(detail), "remedy": remedy.map(JSONValue.string) ?? .null,
        ]
    }
}
