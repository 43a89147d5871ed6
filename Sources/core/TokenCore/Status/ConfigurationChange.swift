// SPDX-License-Identifier: MIT

/// A difference between two configurations.
package struct ConfigurationChange: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case added
        case removed
        case changed
    }

    package var kind: Kind
    /// The dotted key as in the file, for example `session.work.ca_file`.
    ///
    /// For an added or removed table, it is the table's name.
    package var key: String
    /// The session that the change affects, or `nil` if it affects the agent.
    package var session: SessionName?

    package init(_ kind: Kind, _ key: String, session: SessionName? = nil) {
        self.kind = kind
        self.key = key
        self.session = session
    }
}
