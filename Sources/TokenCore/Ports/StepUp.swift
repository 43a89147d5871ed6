// SPDX-License-Identifier: MIT

/// What a login asks for beside what the configuration says, because a resource wanted more (RFC 6750 §3.1, RFC 9470).
package struct StepUp: Equatable, Sendable {
    /// Asked for together with those that were granted.
    package var scopes: [String]
    /// `acr_values`, the most wanted first.
    package var contextClasses: [String]
    /// `max_age`: longest time since the person authenticated, in whole seconds.
    package var maximumAge: Duration?

    package init(scopes: [String] = [], contextClasses: [String] = [], maximumAge: Duration? = nil) {
        self.scopes = scopes
        self.contextClasses = contextClasses
        self.maximumAge = maximumAge
    }

    package var isEmpty: Bool { scopes.isEmpty && contextClasses.isEmpty && maximumAge == nil }
}
