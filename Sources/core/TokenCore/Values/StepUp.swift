// SPDX-License-Identifier: MIT

/// The requirements of a login beyond the configuration, because a resource requested them (RFC 6750 §3.1,
/// RFC 9470).
package struct StepUp: Equatable, Sendable {
    /// The scopes that are requested together with the granted ones.
    package var scopes: [String]
    /// The `acr_values`, the most preferred first.
    package var contextClasses: [String]
    /// The `max_age`: the maximum time since the user authenticated, in whole seconds.
    package var maximumAge: Duration?

    package init(scopes: [String] = [], contextClasses: [String] = [], maximumAge: Duration? = nil) {
        self.scopes = scopes
        self.contextClasses = contextClasses
        self.maximumAge = maximumAge
    }

    package var isEmpty: Bool { scopes.isEmpty && contextClasses.isEmpty && maximumAge == nil }
}
