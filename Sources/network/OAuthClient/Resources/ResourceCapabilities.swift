// SPDX-License-Identifier: MIT

/// The capabilities of a protected resource that no session uses yet.
///
/// The texts come from the resource, after a check of their syntax.
package struct ResourceCapabilities: Equatable, Sendable {
    /// The resource's own identifier, a URL that covers the requested one.
    package var resource: String
    /// The issuer for a login.
    package var issuer: String
    /// The scopes that a login would request.
    package var scopes: [String]
    /// The capabilities of the issuer.
    package var server: IssuerCapabilities
}
