// SPDX-License-Identifier: MIT

import Text

/// What `tokenctl proxy` hands to the program that listens: one line on a socket between them, anew at each reload.
package typealias ListenersMessage = WireMessage<ListenersMembers>

package struct ListenersMembers: WireMembers {
    /// The agent's socket.
    package let socket = WireMember<String>("socket")
    package let listeners = WireMember<[ListenerMessage]>("listeners")
    /// Whether each request is written to standard error.
    package let logsAccess = WireMember<Bool>("access_log", isOptional: true)
    /// Where the metrics are served.
    package let metrics = WireMember<String>("metrics", isOptional: true)

    package static let table = Self()
}

/// One `[[proxy]]` or `[[endpoint]]`, checked.
package typealias ListenerMessage = WireMessage<ListenerMembers>

package struct ListenerMembers: WireMembers {
    package let name = WireMember<String>("name")
    package let kind = WireMember<ListenerKind>("kind")
    /// An absolute path, or `ADDRESS:PORT` with a literal loopback address.
    package let listen = WireMember<String>("listen")
    /// Where it listens this time, in place of that.
    package let place = WireMember<String>("place", isOptional: true)
    package let session = WireMember<String>("session")
    package let upstream = WireMember<String>("upstream", isOptional: true)
    package let scopes = WireMember<[String]>("scopes", isOptional: true)
    package let audience = WireMember<String>("audience", isOptional: true)
    /// Audiences that an endpoint may be asked for beside the session's own.
    package let audiences = WireMember<[String]>("audiences", isOptional: true)
    package let paths = WireMember<[String]>("paths", isOptional: true)
    package let methods = WireMember<[String]>("methods", isOptional: true)
    package let authorityFile = WireMember<String>("ca_file", isOptional: true)
    package let pins = WireMember<[String]>("pins", isOptional: true)
    /// The project that `gce-metadata` names.
    package let project = WireMember<String>("project", isOptional: true)
    /// The numbers of other users who are served.
    package let users = WireMember<[String]>("users", isOptional: true)
    package let doesWithoutSecret = WireMember<Bool>("no_secret", isOptional: true)
    /// The content of `ca_file`, PEM.
    package let authorities = WireMember<String>("authorities", isOptional: true)
    /// The forward proxy through which the upstream is reached, and `USER:PASSWORD` for it.
    package let forwardProxy = WireMember<String>("forward_proxy", isOptional: true)
    package let forwardProxyCredentials = WireMember<String>("forward_proxy_credentials", isOptional: true)
    /// What the session's tokens are for without being asked for more.
    package let sessionScopes = WireMember<[String]>("session_scopes", isOptional: true)
    package let sessionAudiences = WireMember<[String]>("session_audiences", isOptional: true)
    /// The client, for which the ID token of the login is.
    package let sessionClient = WireMember<String>("session_client", isOptional: true)
    /// What a program shows at an endpoint.
    package let secret = WireMember<String>("secret", isOptional: true)
    /// Whether the table stands in the configuration, so that the agent knows it.
    package let isConfigured = WireMember<Bool>("configured", isOptional: true)

    package static let table = Self()
}

/// What a listener does.
package enum ListenerKind: String, CaseIterable, WireValue {
    /// `[[proxy]]`
    case proxy
    case awsContainer = "aws-container"
    case gceMetadata = "gce-metadata"
    case azureIdentity = "azure-msi"
}

extension WireMessage<ListenerMembers> {
    /// The bytes that stand for the table: who listens with another one is another listener.
    ///
    /// The agent and the program that listens make a digest of them, each from its own copy of the table.
    package var identity: [UInt8] {
        let identity = ListenerMessage {
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

/// What the program that listens says back, a line for each table set.
package typealias ListeningMessage = WireMessage<ListeningMembers>

package struct ListeningMembers: WireMembers {
    package let listening = WireMember<[ListeningPlaceMessage]>("listening", isOptional: true)
    /// Why nothing has changed.
    package let error = WireMember<FailureMessage>("error", isOptional: true)

    package static let table = Self()
}

/// Where a listener can be reached.
package typealias ListeningPlaceMessage = WireMessage<ListeningPlaceMembers>

package struct ListeningPlaceMembers: WireMembers {
    package let name = WireMember<String>("name")
    /// Not there where the metrics are.
    package let kind = WireMember<ListenerKind>("kind", isOptional: true)
    /// A URL; of a socket, `http+unix:` and its path.
    package let url = WireMember<String>("url")

    package static let table = Self()
}
