// SPDX-License-Identifier: MIT

import Text

/// The message from `tokenctl proxy` to the process that listens: one line on a socket, at the start and at
/// each reload.
package typealias ListenersSetupMessage = WireMessage<ListenersSetupMembers>

package struct ListenersSetupMembers: WireMemberTable {
    /// The path of the agent's socket.
    package let socket = WireMember<String>("socket")
    package let listeners = WireMember<[ProxyListenerMessage]>("listeners")
    /// Whether each request is logged to standard error.
    package let logsAccess = WireMember<Bool>("access_log", isOptional: true)
    /// The address at which metrics are served.
    package let metrics = WireMember<String>("metrics", isOptional: true)

    package static let table = Self()
}

/// A checked `[[proxy]]` or `[[endpoint]]`.
package typealias ProxyListenerMessage = WireMessage<ProxyListenerMembers>

package struct ProxyListenerMembers: WireMemberTable {
    package let name = WireMember<String>("name")
    package let kind = WireMember<ProxyListenerKind>("kind")
    /// The address to listen at: an absolute path, or `ADDRESS:PORT` with a literal loopback address.
    package let listen = WireMember<String>("listen")
    /// The address to use this time instead of ``listen``.
    package let place = WireMember<String>("place", isOptional: true)
    package let session = WireMember<String>("session")
    package let upstream = WireMember<String>("upstream", isOptional: true)
    package let scopes = WireMember<[String]>("scopes", isOptional: true)
    package let audience = WireMember<String>("audience", isOptional: true)
    /// The audiences that programs may request at an endpoint in addition to the session's own.
    package let audiences = WireMember<[String]>("audiences", isOptional: true)
    package let paths = WireMember<[String]>("paths", isOptional: true)
    package let methods = WireMember<[String]>("methods", isOptional: true)
    package let authorityFile = WireMember<String>("ca_file", isOptional: true)
    package let pins = WireMember<[String]>("pins", isOptional: true)
    /// The project that `gce-metadata` reports.
    package let project = WireMember<String>("project", isOptional: true)
    /// The IDs of other Unix users that are served.
    package let users = WireMember<[String]>("users", isOptional: true)
    package let doesWithoutSecret = WireMember<Bool>("no_secret", isOptional: true)
    /// The content of `ca_file` in PEM.
    package let authorities = WireMember<String>("authorities", isOptional: true)
    /// The forward proxy to the upstream, and `USER:PASSWORD` for it.
    package let forwardProxy = WireMember<String>("forward_proxy", isOptional: true)
    package let forwardProxyCredentials = WireMember<String>("forward_proxy_credentials", isOptional: true)
    /// The scopes and audiences of a token that is requested without naming any.
    package let sessionScopes = WireMember<[String]>("session_scopes", isOptional: true)
    package let sessionAudiences = WireMember<[String]>("session_audiences", isOptional: true)
    /// The client ID, which is the audience of the login's ID token.
    package let sessionClient = WireMember<String>("session_client", isOptional: true)
    /// The secret that a program presents at an endpoint.
    package let secret = WireMember<String>("secret", isOptional: true)
    /// Whether the table is in the configuration, so that the agent knows it.
    package let isConfigured = WireMember<Bool>("configured", isOptional: true)

    package static let table = Self()
}

/// The kind of a listener.
package enum ProxyListenerKind: String, CaseIterable, WireValue {
    /// A `[[proxy]]` table.
    case proxy
    case awsContainer = "aws-container"
    case gceMetadata = "gce-metadata"
    case azureIdentity = "azure-msi"
}

extension WireMessage<ProxyListenerMembers> {
    /// The bytes that identify the table: a listener with other bytes is another listener.
    ///
    /// The agent and the process that listens compute a digest of the bytes, each from its own copy of the
    /// table.
    package var identity: [UInt8] {
        let identity = ProxyListenerMessage {
            $0.name = self.name
            $0.kind = self.kind
            $0.listen = self.listen
            $0.session = self.session
            $0.upstream = self.upstream
            $0.scopes = self.scopes
            $0.audience = self.audience
            $0.audiences = self.audiences
            $0.paths = self.paths
            $0.methods = self.methods
            $0.authorityFile = self.authorityFile
            $0.pins = self.pins
            $0.doesWithoutSecret = self.doesWithoutSecret
            $0.users = self.users
            $0.project = self.project
        }
        return identity.json.serialized
    }
}

/// The message from the process that listens, one line for each received set of tables.
package typealias ListeningResultMessage = WireMessage<ListeningResultMembers>

package struct ListeningResultMembers: WireMemberTable {
    package let listening = WireMember<[ListeningPlaceMessage]>("listening", isOptional: true)
    /// The reason nothing has changed.
    package let error = WireMember<FailureMessage>("error", isOptional: true)

    package static let table = Self()
}

/// The address of a running listener.
package typealias ListeningPlaceMessage = WireMessage<ListeningAddressMembers>

package struct ListeningAddressMembers: WireMemberTable {
    package let name = WireMember<String>("name")
    /// The kind of the listener, absent for the metrics.
    package let kind = WireMember<ProxyListenerKind>("kind", isOptional: true)
    /// The listener's URL, for a socket `http+unix:` and its path.
    package let url = WireMember<String>("url")

    package static let table = Self()
}
