// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// Refusals without a reason, by the session's own servers, of tokens that cannot be replaced.
struct UnexplainedRejections {
    private struct Entry {
        var secret: SecretID
        /// `nil`: nobody has said which server it was.
        var place: HostName?
        var at: Instant
    }

    /// The second refusal within this time counts.
    private static let window = Duration.seconds(60)
    /// How many are remembered, the newest.
    private static let limit = 16

    private var entries: [Entry] = []

    /// Remembers a refusal; returns whether the same server refused the same token within the last minute.
    mutating func add(_ secret: SecretID, of place: HostName?, at now: Instant) -> Bool {
        entries.removeAll { now - $0.at > UnexplainedRejections.window }
        let isSecond = entries.contains { $0.secret == secret && $0.place == place }
        entries.append(Entry(secret: secret, place: place, at: now))
        if entries.count > UnexplainedRejections.limit { entries.removeFirst() }
        return isSecond
    }
}
