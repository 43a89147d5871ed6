// SPDX-License-Identifier: MIT

/// What a protected resource says before any session uses it.
///
/// The texts are those of the resource, checked for what they are.
package struct ResourceCapabilities: Equatable, Sendable {
    /// What it calls itself: an address that covers the one that was asked for.
    package var resource: String
    /// The issuer at which a login would be.
    package var issuer: String
    /// What a login would ask for.
    package var scopes: [String]
    /// What the issuer offers.
    package var server: IssuerCapabilities
}
