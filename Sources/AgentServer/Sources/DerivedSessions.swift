// SPDX-License-Identifier: MIT

import TokenCore

/// Which sessions are made from which, in the configuration in force.
struct DerivedSessions {
    /// All that are made from others, none before those that it is made from: nothing is to be made of what goes.
    let all: [SessionName]
    private let bySource: [SessionName: Set<SessionName>]

    /// More links than any chain has.
    private static let longestChain = 8

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
        let depths = sources.keys.map { (depth: depth(of: $0, within: Self.longestChain), name: $0) }
        all = depths.sorted { ($0.depth, $0.name) < ($1.depth, $1.name) }.map(\.name)
        self.bySource = bySource
    }

    /// Whether there is none.
    var isEmpty: Bool { all.isEmpty }

    /// The sessions that others are made from.
    var sources: some Sequence<SessionName> { bySource.keys }

    /// The sessions made from the tokens of `source`, and those made from theirs, in the order of ``all``.
    subscript(source: SessionName) -> [SessionName] {
        bySource[source].map { derived in all.filter(derived.contains) } ?? []
    }
}
