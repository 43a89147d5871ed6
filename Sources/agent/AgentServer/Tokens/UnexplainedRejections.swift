// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// The rejections without a reason, by the session's own servers, of tokens that cannot be replaced.
struct UnexplainedRejections {
    private struct Entry {
        var secret: SecretID
        /// The host of the server, or `nil` if it is unknown.
        var place: HostAndPort?
        var at: Instant
    }

    /// The time within which a second rejection counts: 60 seconds.
    private static let window = Duration.seconds(60)
    /// The maximum number of entries.
    ///
    /// The oldest is removed first.
    private static let limit = 16

    private var entries: [Entry] = []

    /// Records a rejection.
    ///
    /// - Returns: `true` if the same server has rejected the same token within the last minute.
    mutating func add(_ secret: SecretID, of place: HostAndPort?, at now: Instant) -> Bool {
        entries.removeAll { now - $0.at > UnexplainedRejections.window }
        let isSecond = entries.contains { $0.secret == secret && $0.place == place }
        entries.append(Entry(secret: secret, place: place, at: now))
        if entries.count > UnexplainedRejections.limit { entries.removeFirst() }
        return isSecond
    }
}
