// SPDX-License-Identifier: MIT

/// The requirements of one token request.
package struct TokenRequirements: Equatable, Sendable {
    package var variant: TokenVariant
    /// The minimum remaining validity, or `nil` if the session's policy decides.
    package var minimumValidity: Duration?
    /// Whether the requester requires this token's ID token.
    package var wantsIDToken: Bool
    /// Whether the requester reports immediately when the token is rejected.
    package var reportsRefusals: Bool
    /// The deadline for waiting for a refresh.
    ///
    /// If it is not later than now, the request does not wait.
    package var deadline: Instant
    /// Whether this is a request at a `[[socket]]` for a token of other scopes or another audience.
    ///
    /// Requests of the owner's programs have precedence over it.
    package var isForeign: Bool
    /// Whether another session's token is made from this one.
    ///
    /// A token that has outlived its login is rejected then.
    package var wantsLiveLogin: Bool

    package init(
        variant: TokenVariant = .primary,
        minimumValidity: Duration? = nil,
        wantsIDToken: Bool = false,
        reportsRefusals: Bool = false,
        deadline: Instant,
        isForeign: Bool = false,
        wantsLiveLogin: Bool = false
    ) {
        self.variant = variant
        self.minimumValidity = minimumValidity
        self.wantsIDToken = wantsIDToken
        self.reportsRefusals = reportsRefusals
        self.deadline = deadline
        self.isForeign = isForeign
        self.wantsLiveLogin = wantsLiveLogin
    }
}
