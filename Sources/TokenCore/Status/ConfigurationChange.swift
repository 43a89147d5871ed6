// SPDX-License-Identifier: MIT

/// One place where two configurations differ.
package struct ConfigurationChange: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case added
        case removed
        case changed
    }

    package var kind: Kind
    /// Dotted, as in the file: `session.work.ca_file`; for a table that is new or gone, the table's name.
    package var key: String
    /// The session it is about; `nil`: it is about the agent.
    package var session: SessionName?

    package init(_ kind: Kind, _ key: String, session: SessionName? = nil) {
        self.kind = kind
        self.key = key
        self.session = session
    }
}
