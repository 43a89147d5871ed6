// SPDX-License-Identifier: MIT

import TokenCore

/// One issuer as the configuration describes it, and what is known of it.
///
/// Shared by all sessions that describe it in the same way: what it publishes is fetched and kept once.
struct Issuer: Sendable {
    /// All that decides what is fetched from an issuer and whether it is believed.
    struct Description: Hashable, Sendable {
        /// Where its metadata is.
        enum Metadata: Hashable, Sendable {
            /// Published by this issuer; the endpoints written down replace those published.
            case published(issuer: String, written: WrittenEndpoints)
            /// Published by a server that a protected resource names.
            case named(FoundServer, written: WrittenEndpoints)
            /// Written down by hand.
            case written(FixedEndpoints)
            /// This kind of server has none.
            case none
        }

        let metadata: Metadata
        let trust: ServerTrust

        /// An issuer that no session uses yet.
        init(issuer: String, trust: ServerTrust) {
            self.trust = trust
            metadata = .published(issuer: issuer, written: WrittenEndpoints())
        }

        init(_ profile: ServerProfile) {
            trust = profile.trust
            metadata =
                if case .oidc(let issuer) = profile.kind {
                    .published(issuer: issuer, written: profile.endpoints)
                } else if case .oauth2(let endpoints) = profile.kind {
                    .written(endpoints)
                } else {
                    .none
                }
        }

        /// The server of a session whose resource names it.
        init(_ profile: ServerProfile, namedBy found: FoundServer) {
            trust = profile.trust
            metadata = .named(found, written: profile.endpoints)
        }
    }

    let discovery: Discovery
    let keys: KeySetCache

    init(_ description: Description, tools: ServerTools) {
        discovery = Discovery(description, tools: tools)
        keys = KeySetCache(trust: description.trust, tools: tools)
    }
}
