// SPDX-License-Identifier: MIT

/// The expiry of a login's refresh token, and whether refreshes extend it.
package struct LoginExpiry: Equatable, Sendable {
    /// The origin of a known expiry.
    package enum Source: UInt8, Sendable {
        /// The server named this expiry for the current refresh token. The token is not sent after it.
        case told = 0
        /// The expiry comes from an earlier response, the configuration or the token itself (a JWT).
        ///
        /// The server may go on accepting the refresh token after it.
        case presumed = 1
    }

    /// The effect of refreshes on the expiry.
    package enum Mobility: UInt8, Sendable {
        /// No two responses were far enough apart to tell.
        case unknown = 0
        /// The last refresh extended the expiry.
        case moves = 1
        /// The last refresh did not extend the expiry.
        case fixed = 2
    }

    package var at: Instant
    /// The time at which the current refresh token was obtained.
    package var since: Instant
    /// The time from issue to expiry of a refresh token at this server.
    package var lifetime: Duration
    package var source: Source
    package var mobility: Mobility

    /// The time after `since` from which an unchanged expiry counts as fixed, 4 seconds.
    ///
    /// Before that, rounding to whole seconds hides the difference.
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

    /// Creates the expiry that a response names when its request was sent at `now`.
    init(_ lifetime: RefreshLifetime, at now: Instant) {
        self.init(
            at: now + lifetime.duration,
            since: now,
            lifetime: lifetime.duration,
            source: lifetime.source
        )
    }

    /// Returns the expiry after a refresh whose request was sent at `now`.
    ///
    /// - Parameters:
    ///   - told: the lifetime that the response names for the refresh token in use from now on.
    ///   - now: the time at which the request was sent.
    ///   - isChanged: whether the response contained another refresh token.
    /// - Returns: the new expiry, or `nil` if the server accepted the refresh token after its presumed
    ///   expiry. Nothing is known about the expiry then.
    func refreshed(_ told: RefreshLifetime?, at now: Instant, isChanged: Bool) -> LoginExpiry? {
        let elapsed = now - since
        guard let told else { return afterSilence(at: now, isChanged: isChanged, elapsed) }
        var next = LoginExpiry(told, at: now)
        let hasMoved = next.at - at > max(elapsed / 2, .seconds(1))
        next.mobility = hasMoved ? .moves : elapsed < LoginExpiry.tellingPause ? mobility : .fixed
        return next
    }

    /// Returns the expiry after a response that names none: unchanged, unless it has passed.
    private func afterSilence(at now: Instant, isChanged: Bool, _ elapsed: Duration) -> LoginExpiry? {
        var next = self
        guard isChanged else {
            // The server accepted the same refresh token after its presumed expiry, so the presumption was
            // wrong.
            guard at > now else { return nil }
            if elapsed >= LoginExpiry.tellingPause { next.mobility = .fixed }
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

/// The lifetime of a refresh token, counted from the request whose response contained it.
package struct RefreshLifetime: Equatable, Sendable {
    package var duration: Duration
    package var source: LoginExpiry.Source

    package init(_ duration: Duration, source: LoginExpiry.Source = .told) {
        self.duration = duration
        self.source = source
    }
}
