// SPDX-License-Identifier: MIT

import TokenCore

/// The derivation of sessions from others in the active configuration.
struct DerivedSessions {
    /// All derived sessions, each after its sources, so that nothing is derived from a session that ends.
    let all: [SessionName]
    private let bySource: [SessionName: Set<SessionName>]

    /// The bound of the search for a session's depth, greater than the length of any chain.
    private static let depthLimit = 8

    init(_ configuration: AgentConfiguration) {
        let sources = configuration.sessions.compactMapValues { settings in
            settings.sources.all.isEmpty ? nil : settings.sources.all.map(\.session)
        }
        var bySource: [SessionName: Set<SessionName>] = [:]
        for (name, nearest) in sources {
            var next = nearest
            while let source = next.popLast() {
                guard bySource[source, default: []].insert(name).inserted else { continue }
                next += sources[source] ?? []
            }
        }
        func depth(of name: SessionName, within limit: Int) -> Int {
            guard limit > 0, let nearest = sources[name] else { return 0 }
            return 1 + (nearest.map { depth(of: $0, within: limit - 1) }.max() ?? 0)
        }
        let depths = sources.keys.map { (depth: depth(of: $0, within: Self.depthLimit), name: $0) }
        all = depths.sorted { ($0.depth, $0.name) < ($1.depth, $1.name) }.map(\.name)
        self.bySource = bySource
    }

    /// Whether no session is derived.
    var isEmpty: Bool { all.isEmpty }

    /// The sessions that others are derived from.
    var sources: some Sequence<SessionName> { bySource.keys }

    /// The sessions derived from `source`, directly or indirectly, in the order of ``all``.
    subscript(source: SessionName) -> [SessionName] {
        bySource[source].map { derived in all.filter(derived.contains) } ?? []
    }
}
