// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// One issuer with its metadata and its keys.
///
/// All sessions with the same description share the issuer, so its documents are fetched once.
struct Issuer: Sendable {
    /// The values that decide which documents are fetched from an issuer and whether they are accepted.
    struct Description: Hashable, Sendable {
        /// The source of the metadata.
        enum MetadataSource: Hashable, Sendable {
            /// A document of this issuer, at `address` or where its name leads, with the configured endpoints
            /// replacing published ones.
            ///
            /// Only a document at `address`, which the user configured, may name an issuer that is not yet
            /// known.
            case published(issuer: String?, address: String? = nil, written: EndpointOverrides)
            /// A document of the server that a protected resource names.
            case named(DiscoveredServer, written: EndpointOverrides)
            /// The configured endpoints.
            case written(FixedEndpoints)
            /// This kind of server has no metadata.
            case none
        }

        let metadata: MetadataSource
        let trust: ServerTrust

        /// Describes an issuer that no session uses yet.
        init(issuer: String?, address: String? = nil, trust: ServerTrust) {
            self.trust = trust
            metadata = .published(issuer: issuer, address: address, written: EndpointOverrides())
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

        /// Creates the description of the authorization server that is named in the metadata of a session's resource.
        ///
        /// `address` is the configured location of its metadata.
        init(_ profile: ServerProfile, namedBy found: DiscoveredServer, address: String?) {
            trust = profile.trust
            metadata =
                address == nil
                ? .named(found, written: profile.endpoints)
                : .published(issuer: found.issuer, address: address, written: profile.endpoints)
        }
    }

    let discovery: ServerMetadataCache
    let keys: KeySetCache

    init(_ description: Description, tools: ServerDependencies) {
        discovery = ServerMetadataCache(description, tools: tools)
        keys = KeySetCache(trust: description.trust, tools: tools)
    }
}
