// SPDX-License-Identifier: MIT

/// Why the store that a fleet shares cannot be used now.
package struct FleetTrouble: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Nothing was done.
        case unavailable
        /// It may have been carried out.
        case unanswered
        /// Something is there and does not open. It is never taken for an absent one.
        case unreadable
        /// The record belongs to another client or server than this host's settings name.
        case foreign
        /// A condition names a value whose bytes are not known; nothing was sent.
        case unknownValue
    }

    package var kind: Kind
    /// A sentence without a full stop.
    package var sentence: String
    /// What helps; `nil`: time.
    package var remedy: String?

    package init(_ kind: Kind, _ sentence: String, remedy: String? = nil) {
        self.kind = kind
        self.sentence = sentence
        self.remedy = remedy
    }
}
