// SPDX-License-Identifier: MIT

/// When the refresh token of a login ends, and whether a refresh moves that.
package struct LoginEnd: Equatable, Sendable {
    /// How the end is known.
    package enum Source: UInt8, Sendable {
        /// The server named this end for the present refresh token, which is not sent after it.
        case told = 0
        /// From an earlier answer, the configuration or the token itself (a JWT): the server may go on taking
        /// the refresh token.
        case presumed = 1
    }

    /// What refreshes do to the end.
    package enum Mobility: UInt8, Sendable {
        /// No two answers were far enough apart to tell.
        case unknown = 0
        /// The last refresh moved it on.
        case moves = 1
        /// The last refresh did not move it on.
        case fixed = 2
    }

    package var at: Instant
    /// When the present refresh token was obtained.
    package var since: Instant
    /// How long the server lets a refresh token live.
    package var lifetime: Duration
    package var source: Source
    package var mobility: Mobility

    /// How long after `since` an unmoved end counts as fixed; before that, whole seconds blur the difference.
    private static let tellingPause = Duration.seconds(4)

    package init(
        at: Instant,
        since: Instant,
        lifetime: Duration,
        source: Source = .told,
        mobility: Mobility = .unknown
    ) {
        self.at = at
        self.since = since
        self.lifetime = max(.zero, lifetime)
        self.source = source
        self.mobility = mobility
    }

    /// The end that an answer names when its request was sent at `now`.
    init(_ lifetime: RefreshLifetime, at now: Instant) {
        self.init(
            at: now + lifetime.duration,
            since: now,
            lifetime: lifetime.duration,
            source: lifetime.source
        )
    }

    /// The end after a refresh whose request was sent at `now`.
    ///
    /// - Parameters:
    ///   - told: what the answer says about the refresh token that is good from now on.
    ///   - now: when.
    ///   - isChanged: the answer brought another refresh token.
    /// - Returns: `nil` when the server took the refresh token past its presumed end, so nothing is known any
    ///   more.
    func refreshed(_ told: RefreshLifetime?, at now: Instant, isChanged: Bool) -> LoginEnd? {
        let elapsed = now - since
        guard let told else { return afterSilence(at: now, isChanged: isChanged, elapsed) }
        var next = LoginEnd(told, at: now)
        let hasMoved = next.at - at > max(elapsed / 2, .seconds(1))
        next.mobility = hasMoved ? .moves : elapsed < LoginEnd.tellingPause ? mobility : .fixed
        return next
    }

    /// The end after an answer that does not name one: where it was, unless it has passed.
    private func afterSilence(at now: Instant, isChanged: Bool, _ elapsed: Duration) -> LoginEnd? {
        var next = self
        guard isChanged else {
            // The same refresh token was taken past its presumed end, so it did not end there.
            guard at > now else { return nil }
            if elapsed >= LoginEnd.tellingPause { next.mobility = .fixed }
            return next
        }
        next.since = now
        next.source = .presumed
        guard at <= now else { return next }
        next.at = now + lifetime
        next.mobility = .moves
        return next
    }
}

/// How long a refresh token lives, counted from the request whose answer brought it.
package struct RefreshLifetime: Equatable, Sendable {
    package var duration: Duration
    package var source: LoginEnd.Source

    package init(_ duration: Duration, source: LoginEnd.Source = .told) {
        self.duration = duration
        self.source = source
    }
}
