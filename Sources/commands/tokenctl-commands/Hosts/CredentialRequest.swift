// SPDX-License-Identifier: MIT

import AgentProtocol

/// A request of another program for a credential.
struct CredentialRequest {
    /// The name of the session, or `nil` for the session whose `hosts` match ``server``.
    var session: String?
    /// The server that the token is for, if the program names it.
    var server: ServerAddress?
    /// The user name that the program will use at the server.
    var user: String?
    var wantsIDToken = false
}
