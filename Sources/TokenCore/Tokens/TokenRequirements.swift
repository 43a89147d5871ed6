// SPDX-License-Identifier: MIT

/// What one request for a token asks for.
package struct TokenRequirements: Equatable, Sendable {
    package var variant: TokenVariant
    /// The least remaining lifetime the requester accepts; `nil`: the session's policy decides.
    package var minimumValidity: Duration?
    /// The requester wants this token's ID token.
    package var wantsIDToken: Bool
    /// The requester reports at once when the token is refused.
    package var reportsRefusals: Bool
    /// When the requester gives up waiting for a refresh; if not later than now, it does not wait at all.
    package var deadline: Instant
    /// A token of other scopes or another audience for somebody at a `[[socket]]`: whatever the owner's programs wait
    /// for goes first.
    package var isForeign: Bool
    /// Another session's token is made from it: one that has outlived its login will not do.
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
