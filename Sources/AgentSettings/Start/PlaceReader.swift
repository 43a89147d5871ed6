// SPDX-License-Identifier: MIT

import AgentProtocol

/// Reads where the agent is to make something.
struct PlaceReader {
    /// What `~/` at the beginning of a path stands for.
    let home: String?
    let reservedPaths: ReservedPaths?

    /// The path of a socket: short enough, and nothing of the agent's own is there.
    func socket(_ key: String, in table: inout TableReader) -> String? {
        guard let path = table.path(key, home: home) else { return nil }
        guard path.utf8.count <= AgentPaths.longestSocketPath else {
            table.report(key, "is longer than \(AgentPaths.longestSocketPath) bytes")
            return nil
        }
        if let objection = reservedPaths?.objection(toListeningAt: path) {
            table.report(key, objection)
            return nil
        }
        return path
    }
}
