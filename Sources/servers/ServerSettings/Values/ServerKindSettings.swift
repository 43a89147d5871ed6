// SPDX-License-Identifier: MIT

import Text

/// The properties of every kind of server that the other parts of the agent use.
package protocol ServerKindSettings: Sendable {
    /// The values that distinguish the server from others of its kind.
    var identity: AuthorizationServerIdentity { get }
    /// The errors that are visible without asking the server.
    ///
    /// Addresses were parsed before.
    var problems: [ServerProfileError] { get }
    /// The words that identify the purpose of the tokens, if sessions of one server may differ in it; the others
    /// differ in their scopes.
    var purpose: [String]? { get }
    /// The files with secrets for requests, each with its key.
    var secretFiles: [(key: String, path: String)] { get }
    /// The commands that print tokens, or secrets for requests.
    var commands: [[String]] { get }
    /// The URLs at which tokens are revoked or a login is ended.
    var endings: [String] { get }
    /// The meaning of errors of resource servers.
    var resourceErrors: ResourceErrorRules { get }
    /// The members of requests and responses that contain secrets, in addition to those of OAuth 2.0.
    var secretMembers: [String] { get }
    /// The members of requests that contain no secrets, in addition to those of OAuth 2.0.
    var harmlessMembers: [String] { get }
}

extension ServerKindSettings {
    package var problems: [ServerProfileError] { [] }
    package var purpose: [String]? { nil }
    package var secretFiles: [(key: String, path: String)] { [] }
    package var commands: [[String]] { [] }
    package var endings: [String] { [] }
    package var resourceErrors: ResourceErrorRules { ResourceErrorRules() }
    package var secretMembers: [String] { [] }
    package var harmlessMembers: [String] { [] }
}

/// The values that distinguish one server from another of its kind.
package struct AuthorizationServerIdentity: Equatable, Sendable {
    /// The address that a session needs for a refresh.
    package var address: String
    /// The pool at the address, if there may be several.
    package var pool: String?
    /// The issuer of the server's ID tokens, or `nil` if the configuration names none and any is accepted.
    package var issuer: String?
}

/// The errors of a resource server that concern the session and not only one request.
package struct ResourceErrorRules: Equatable, Sendable {
    /// The error codes that cause a refresh.
    package var refreshCodes: [String] = []
    /// The error codes that end the session.
    package var logoutCodes: [String] = []
    /// The paths of error codes in responses, and of the member that requires a new login.
    ///
    /// The standard kinds have no such member: only the authorization server itself ends their logins.
    package var paths = JSONResponsePaths()
    /// Whether the session ends when the refreshed token is also rejected.
    package var endsWithSecondRefusal = false
}
