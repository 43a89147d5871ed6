// SPDX-License-Identifier: MIT

import Text

/// The reason the fleet's store cannot be used now.
package struct FleetStoreError: Error, Equatable, Sendable {
    /// The effect of the failed request, or the kind of unusable value.
    package enum Kind: Hashable, Sendable {
        /// Nothing was done.
        case unavailable
        /// Nothing was done, because this host lacks the permission.
        case denied
        /// The request may have been carried out.
        case unanswered
        /// A value exists and cannot be opened. It is never treated as absent.
        case unreadable
        /// The record belongs to another client or server than this host's settings name.
        case foreign
        /// A condition names a value whose bytes are not known. Nothing was sent.
        case unknownValue
    }

    package var kind: Kind
    /// A sentence without a full stop.
    package var sentence: String
    /// The advice, or `nil` if it is to wait.
    package var remedy: Remedy?
    /// Whether only the user can correct the setup of this host or of etcd, so that retries are useless.
    package var isMistake: Bool

    /// Creates an error.
    ///
    /// By default `isMistake` is true for ``Kind/denied`` and ``Kind/foreign``.
    package init(_ kind: Kind, _ sentence: String, remedy: Remedy? = nil, isMistake: Bool? = nil) {
        self.kind = kind
        self.sentence = sentence
        self.remedy = remedy
        self.isMistake = isMistake ?? (kind == .denied || kind == .foreign)
    }

    /// The error while nothing is known, because the store is being opened or has not been used.
    package static let unasked = FleetStoreError(.unavailable, "etcd has not been read yet")

    /// The error for responses of etcd without its time.
    package static let undated = FleetStoreError(
        .unavailable,
        "etcd's responses have no Date header, which dates the tokens",
        remedy: .set("the proxy in front of etcd to pass the Date header")
    )

    /// The sentence with the remedy in parentheses, for places with one line.
    package var advice: String { remedy.map { "\(sentence) \($0.parenthesized)" } ?? sentence }

    /// Returns the remedy for unusable values of `session` in etcd, at a host with `role`.
    package static func repair(_ session: SessionName, at role: FleetRole = .keeper) -> Remedy {
        role == .keeper
            ? .run("tokenctl fleet repair \(session)")
            : .retry("after tokenctl fleet repair \(session) at a host with role = \"keeper\"")
    }

    /// Creates the error for a fleet login of `session` that is of another client or server than this host's
    /// settings.
    package init(_ session: SessionName, differsIn keys: [String]) {
        self.init(
            .foreign,
            "the fleet's record of \(session) differs from this host's settings in "
                + keys.joined(separator: ", "),
            remedy: .set(
                "the same values in [session.\(session)] on all hosts, then run tokenctl fleet repair \(session)"
            )
        )
    }
}
