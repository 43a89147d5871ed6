// SPDX-License-Identifier: MIT

import TokenCore

/// One authorization server and our registration there: how one kind of server is spoken to.
///
/// A new kind is one file that conforms to this, and one line in ``AuthorizationServers``.
protocol AuthorizationServer: Sendable {
    func refresh(_ request: RefreshRequest) async -> RefreshOutcome
    func logIn(_ request: LoginRequest, conversation: any LoginConversing) async -> LoginOutcome
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome
    /// What it holds between exchanges: a server that was shown a client secret once may name it at any time.
    var heldSecrets: [SecretID] { get async }
}
