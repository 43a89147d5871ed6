// SPDX-License-Identifier: MIT

/// The result of a refresh, reduced to what the other hosts need to know.
package enum FleetRefreshOutcome: Equatable, Sendable {
    /// New tokens, which must be made durable before anything else.
    case tokens(tokenMark: UInt64)
    /// The server certainly did nothing, or nothing was sent. The next attempt need not list this one in its
    /// intent.
    case untouched
    /// No usable response arrived, so the server may have replaced the refresh token.
    case unanswered
    /// The server rejects the refresh token.
    ///
    /// `confirmations` is the number of further rejections before the first is believed, because one lagging
    /// replica must not end a session.
    case refused(EndReason, confirmations: Int)
}

extension FleetRefreshOutcome {
    /// Creates the result of a failed exchange.
    ///
    /// A gateway responds with 500, 502 or 504 also after the server behind it has acted, so these count as
    /// no response. Only a server itself sends 429, or 503 with `Retry-After` (RFC 6585 §4, RFC 9110
    /// §15.6.4).
    ///
    /// While the access token is valid, a rejection without a reason counts as none, because the server may
    /// only reject early refreshes.
    ///
    /// - Parameters:
    ///   - failure: the failure of the exchange.
    ///   - status: the status of the HTTP response, if one arrived.
    ///   - isFirstUse: whether the refresh token had never been sent before.
    ///   - hasRefreshed: whether the login has been refreshed before.
    ///   - hasToken: whether there is a valid access token.
    package init(
        _ failure: RefreshFailure,
        status: Int?,
        isFirstUse: Bool,
        hasRefreshed: Bool = false,
        hasToken: Bool = false
    ) {
        switch failure.kind.consequences.verdict(hasRefreshed: hasRefreshed) {
        case .end(let reason, _): self = .refused(reason, confirmations: 0)
        case .endAndConfirm(let reason): self = .refused(reason, confirmations: 1)
        case .endUnlessConfirmed(let reason):
            self = .refused(reason, confirmations: isFirstUse ? 1 : 0)
        case .retry where failure.kind == .unexplained && hasToken: self = .untouched
        case .retry where failure.kind == .unexplained:
            self = .refused(.refusedWithoutReason, confirmations: 2)
        case .retry where failure.kind == .busy:
            self = FleetRefreshOutcome.isRefusalToAct(status, failure) ? .untouched : .unanswered
        case .retry where failure.kind.consequences.tokenUse == .unanswered: self = .unanswered
        case .retry, .retryThenSuspend, .suspend, .refuseVariant, .endWithSource, .refuseSource:
            self = .untouched
        }
    }

    private static func isRefusalToAct(_ status: Int?, _ failure: RefreshFailure) -> Bool {
        status == 429 || status == 503 && failure.retryAfter != nil
    }
}
