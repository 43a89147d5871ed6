// SPDX-License-Identifier: MIT

import TokenCore

/// When the agent looks by itself whether its configuration has changed, and what was wrong with it then.
struct ConfigurationWatch {
    /// Looks are at least this far apart, whoever asks for them: nobody can make the agent read the disk all day.
    private static let pause = Duration.seconds(1)

    private var lookedAt: Instant?
    /// What kept the latest file from being taken over; `nil`: nothing.
    private(set) var mistake: String?

    /// Whether it is time for a look, which then counts as made.
    mutating func begins(at now: Instant) -> Bool {
        if let lookedAt, now - lookedAt < Self.pause { return false }
        lookedAt = now
        return true
    }

    /// The file was read, and has this mistake or none.
    mutating func read(_ mistake: String?) {
        self.mistake = mistake
    }
}
