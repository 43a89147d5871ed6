// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// One authorization server and the session's client registration there, accessed in the protocol of its
/// kind.
///
/// A new kind needs a type that conforms to this protocol, a line in ``AuthorizationServers``, its settings
/// (``ServerKindSettings``), and its cases in the file of ``ServerKind``.
protocol AuthorizationServer: Sendable {
    var profile: ServerProfile { get }
    func refresh(_ request: RefreshRequest) async -> RefreshOutcome
    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome
    /// Deletes the client that the server registered for this session, and forgets it (RFC 7592 §2.3).
    func unregister(_ found: DiscoveredServer?) async
    /// The secrets held between exchanges.
    ///
    /// A server that has received the client secret may repeat it later.
    var heldSecrets: [SecretID] { get async }
}

extension AuthorizationServer {
    func unregister(_ found: DiscoveredServer?) async {}
}
