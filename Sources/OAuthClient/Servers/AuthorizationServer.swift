// SPDX-License-Identifier: MIT

import TokenCore

/// One authorization server and our registration there, spoken to in the protocol of its kind.
///
/// A new kind needs a type that conforms to this, a line in ``AuthorizationServers``, and its cases in
/// ``ServerKind`` and ``ServerProfile/Kind``.
protocol AuthorizationServer: Sendable {
    var profile: ServerProfile { get }
    func refresh(_ request: RefreshRequest) async -> RefreshOutcome
    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome
    /// Has the client deleted that the server registered for us, and forgets it (RFC 7592 §2.3).
    func unregister(_ found: DiscoveredServer?) async
    /// The secrets held between exchanges: a server that has seen the client secret may repeat it later.
    var heldSecrets: [SecretID] { get async }
}

extension AuthorizationServer {
    func unregister(_ found: DiscoveredServer?) async {}
}
