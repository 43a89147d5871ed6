// SPDX-License-Identifier: MIT

extension Session {
    /// Records that a server rejected one of the session's tokens, which is never served again.
    ///
    /// - Parameters:
    ///   - waiter: the requester that reports it, and waits for another token.
    ///   - secret: the rejected token.
    ///   - fingerprint: the digest that recognizes the token if the authorization server issues it again.
    ///   - deadline: the requester's deadline.
    ///   - moment: the current time.
    /// - Returns: the effects to execute. A session that cannot be refreshed ends.
    package mutating func tokenRefused(
        by waiter: WaiterID,
        _ secret: SecretID,
        _ fingerprint: TokenFingerprint?,
        deadline: Instant,
        at moment: Moment
    ) -> [Effect] {
        guard let variant = servable?.tokens.first(where: { $0.value.secret == secret })?.key else {
            return refreshRequested(by: waiter, rejecting: secret, deadline: deadline, at: moment)
        }
        changeLogins { $0.refuse(secret, fingerprint, at: moment.now) }
        storage.owe(at: moment.now)
        if let login, login.renewal == .impossible {
            let message = Session.noRefreshTokenMessage + ", and a server rejected the access token"
            let ending = end(
                .noRefreshToken,
                message,
                login,
                probeAt: nil,
                keeping: .refreshToken,
                at: moment
            )
            return ending + [.reply(waiter, .failure(loginRequired))]
        }
        return refreshRequested(by: waiter, variant, rejecting: secret, deadline: deadline, at: moment)
    }

    /// Returns whether `secret` replaced a rejected token so recently that another one would not help.
    package func isFreshReplacement(_ secret: SecretID, at now: Instant) -> Bool {
        guard let token = servable?.tokens.values.first(where: { $0.secret == secret }) else { return false }
        return token.refusedBefore > 0 && now < token.replaceableAt
    }

    /// Ends trials of doubtful tokens that have lasted long enough, and begins one if the requester reports
    /// rejections.
    mutating func resolveTokenTrials(_ need: TokenRequirements, at now: Instant) {
        guard let login, login.tokens.values.contains(where: { $0.standing.isInDoubt }) else { return }
        changeLogins { login in
            login.concludeTrials(at: now)
            if need.reportsRefusals { login.beginTrial(need.variant, at: now) }
        }
    }

    /// Returns the failure while a rejected token is not replaced yet, or `nil` if it may be.
    func replacementDelay(_ variant: TokenVariant, at now: Instant) -> ServingFailure? {
        guard let token = login?.tokens[variant], token.isRefused, token.replaceableAt > now else {
            return nil
        }
        let message =
            token.standing == .refused(isRepeat: true)
            ? "the authorization server issued the rejected token again"
            : "a server rejected the token that had just replaced a rejected one"
        return .tokenRefused(message: message, retryAfter: max(.seconds(1), token.replaceableAt - now))
    }
}
