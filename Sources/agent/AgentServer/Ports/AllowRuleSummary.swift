// SPDX-License-Identifier: MIT

import TokenCore

/// The properties of the active rules that every request needs, computed once for each configuration.
struct AllowRuleSummary {
    /// Whether any session has rules.
    let exist: Bool
    /// The paths of the programs whose digests are named by rules.
    let digested: Set<String>

    init(_ configuration: AgentConfiguration) {
        let rules = configuration.sessions.values.lazy.map(\.rules)
        exist = rules.contains { !$0.isEmpty }
        digested = Set(rules.joined().filter { $0.digest != nil }.compactMap(\.executable))
    }
}
