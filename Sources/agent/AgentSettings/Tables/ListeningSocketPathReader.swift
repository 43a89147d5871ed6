// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings

/// A reader of paths at which the agent creates something.
struct ListeningSocketPathReader {
    /// The home directory, for `~/` at the beginning of paths.
    let home: String?
    let reservedPaths: ReservedPaths?

    /// Reads the path of a socket, which must be short enough and not one of the agent's own files.
    func socket(_ key: String, in table: inout TableReader) -> String? {
        guard let path = table.path(key, home: home) else { return nil }
        guard path.utf8.count <= AgentPaths.maximumSocketPathLength else {
            table.report(key, "is longer than \(AgentPaths.maximumSocketPathLength) bytes")
            return nil
        }
        if let objection = reservedPaths?.objection(toListeningAt: path) {
            table.report(key, objection)
            return nil
        }
        return path
    }
}
