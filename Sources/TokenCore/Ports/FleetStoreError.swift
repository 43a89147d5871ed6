// SPDX-License-Identifier: MIT

/// Why the store that a fleet shares cannot be used now.
package struct FleetStoreError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Nothing was done.
        case unavailable
        /// Nothing was done: this host has no right to it.
        case denied
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
    /// What helps; `nil`: time, or what the sentence says.
    package var remedy: String?
    /// Only a person can put it right, in the set-up of this host or of etcd: trying again is of no use.
    package var isMistake: Bool

    /// `isMistake`: by default so for what etcd does not allow, and for the record of another client or server.
    package init(_ kind: Kind, _ sentence: String, remedy: String? = nil, isMistake: Bool? = nil) {
        self.kind = kind
        self.sentence = sentence
        self.remedy = remedy
        self.isMistake = isMistake ?? (kind == .denied || kind == .foreign)
    }

    /// Nothing is known yet: the store is being opened, or nobody has wanted it.
    package static let unasked = FleetStoreError(.unavailable, "the fleet has not been asked yet")

    /// The sentence with what helps, without a full stop.
    package var advice: String { remedy.map { "\(sentence); \($0)" } ?? sentence }

    /// What helps where something of `session` in etcd is of no use.
    package static func repair(_ session: SessionName) -> String {
        "tokenctl fleet repair \(session) at a host with role = \"keeper\""
    }

    /// The fleet's login of `session` is of another client or server than this host's settings name.
    package init(_ session: SessionName, differsIn keys: [String]) {
        self.init(
            .foreign,
            "the fleet's record of \(session) differs from this host's settings in "
                + keys.joined(separator: ", "),
            remedy:
                "give the session the same settings on all hosts; where they have them, tokenctl fleet repair "
                + "\(session)"
        )
    }
}
