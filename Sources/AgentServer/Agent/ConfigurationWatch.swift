// SPDX-License-Identifier: MIT

import TokenCore

/// When the agent looks by itself whether its configuration has changed, and what was wrong with it then.
struct ConfigurationWatch {
    /// Looks are at least this far apart: nobody can make the agent read the disk all day.
    private static let pause = Duration.seconds(1)

    private var lookedAt: Instant?
    /// The mistake that kept the latest file from being taken over; `nil` if there was none.
    private(set) var mistake: String?

    /// Whether it is time for a look; a yes counts as a look.
    mutating func begins(at now: Instant) -> Bool {
        if let lookedAt, now - lookedAt < Self.pause { return false }
        lookedAt = now
        return true
    }

    /// Notes that the file was read, and its mistake if it has one.
    mutating func read(_ mistake: String?) {
        self.mistake = mistake
    }
}
