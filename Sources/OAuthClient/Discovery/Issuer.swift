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
            /// Published by this issuer, at `address` or where its name leads; the endpoints written down replace those
            /// published.
            ///
            /// Only a document at `address`, which a person has written, may name an issuer that nobody has named yet.
            case published(issuer: String?, address: String? = nil, written: ConfiguredEndpoints)
            /// Published by a server that a protected resource names.
            case named(DiscoveredServer, written: ConfiguredEndpoints)
            /// Written down by hand.
            case written(FixedEndpoints)
            /// This kind of server has none.
            case none
        }

        let metadata: Metadata
        let trust: ServerTrust

        /// An issuer that no session uses yet.
        init(issuer: String?, address: String? = nil, trust: ServerTrust) {
            self.trust = trust
            metadata = .published(issuer: issuer, address: address, written: ConfiguredEndpoints())
        }

        init(_ profile: ServerProfile) {
            trust = profile.trust
            metadata =
                if case .oidc(let issuer, let address) = profile.kind {
                    .published(issuer: issuer, address: address, written: profile.endpoints)
                } else if case .oauth2(let endpoints) = profile.kind {
                    .written(endpoints)
                } else {
                    .none
                }
        }

        /// The server of a session whose resource names it.
        ///
        /// `address`: where a person has written that its metadata is.
        init(_ profile: ServerProfile, namedBy found: DiscoveredServer, address: String?) {
            trust = profile.trust
            metadata =
                address == nil
                ? .named(found, written: profile.endpoints)
                : .published(issuer: found.issuer, address: address, written: profile.endpoints)
        }
    }

    let discovery: Discovery
    let keys: KeySetCache

    init(_ description: Description, tools: ServerDependencies) {
        discovery = Discovery(description, tools: tools)
        keys = KeySetCache(trust: description.trust, tools: tools)
    }
}
