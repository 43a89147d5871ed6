// SPDX-License-Identifier: MIT

import Text

/// The age of the facts in the provider file of a session.
package struct ProviderAge: Equatable, Sendable {
    /// The name of the provider.
    package let name: String
    /// The provider's name for the user.
    package let title: String
    /// The day on which the oldest of the facts was checked, such as `2026-11-30`.
    package let checked: String

    /// Creates the age of `file`, or returns `nil` if none of its facts has a date.
    init?(_ file: ProviderFile) {
        guard let checked = file.facts.compactMap(\.checked).min() else { return nil }
        (name, title) = (file.name, file.title)
        self.checked = checked
    }

    /// Returns the note on facts older than a year, or `nil` if they are younger.
    ///
    /// - Parameter now: the seconds since 1970.
    /// - Returns: a sentence without a full stop.
    package func note(at now: Int64) -> String? {
        // Days written like this are ordered as text.
        let yearAgo = DurationPhrase.rfc3339(now - 365 * 86_400).prefix { $0 != "T" }
        guard checked < yearAgo else { return nil }
        return "the facts about \(title) were checked on \(checked); a newer release may have newer ones"
    }
}
