// SPDX-License-Identifier: MIT

import TokenCore

/// The times of the agent's own checks for a changed configuration, and the error that the last one found.
struct ConfigurationCheckThrottle {
    /// The minimum time between two checks, so that nobody can make the agent read the disk all day.
    private static let delay = Duration.seconds(1)

    private var lookedAt: Instant?
    /// The error that prevented the latest file from being loaded, or `nil` if there was none.
    private(set) var mistake: String?

    /// Begins a check if the last one is long enough ago.
    ///
    /// - Returns: `true` if the caller must check now.
    mutating func begins(at now: Instant) -> Bool {
        if let lookedAt, now - lookedAt < Self.delay { return false }
        lookedAt = now
        return true
    }

    /// Records that the file was read, and its error if it has one.
    mutating func read(_ mistake: String?) {
        self.mistake = mistake
    }
}
