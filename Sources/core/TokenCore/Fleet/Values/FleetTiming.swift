// SPDX-License-Identifier: MIT

/// The time limits for refreshes by the hosts of a fleet at one authorization server.
package struct FleetTiming: Equatable, Sendable {
    /// The server's response to a refresh token that is sent a second time.
    package enum RefreshTokenReuse: Equatable, Sendable {
        /// The server accepts the token again, because it does not replace refresh tokens.
        case accepted
        /// The server accepts the token again for this time.
        case acceptedFor(Duration)
        /// The server rejects the token and may end the login, or its treatment is unknown.
        case refused
    }

    /// The lifetime to request from etcd for the lease of a lock.
    package var lease: Duration
    /// The time within which the whole request must arrive at the server.
    ///
    /// The server then acts on it, else the connection is reset.
    package var request: Duration
    /// The tolerance for inexact clocks and whole seconds.
    package var margin: Duration
    package var reuse: RefreshTokenReuse
    /// The time after the access token's expiry for which an unanswered attempt blocks sending its token
    /// again.
    package var takeoverTimeout: Duration

    package init(
        lease: Duration,
        request: Duration,
        margin: Duration,
        reuse: RefreshTokenReuse,
        takeoverTimeout: Duration
    ) {
        self.lease = lease
        self.request = request
        self.margin = margin
        self.reuse = reuse
        self.takeoverTimeout = max(takeoverTimeout, FleetTiming.maximumLease + margin)
    }

    /// The time over which hosts spread their requests that would otherwise come at one moment.
    var maximumClaimDuration: Duration { takeoverTimeout / 4 }

    /// Returns the time after a read at `time` within which a refresh token first sent at `first` may be sent
    /// again.
    ///
    /// etcd's time is in whole seconds, so the actual time may be up to a second later. A request's fraction
    /// of a second is not rounded: it is a large part of the rest of a ten-second grace.
    ///
    /// - Returns: the time, or `nil` if the server has no grace.
    func graceLeft(since first: FleetTime, at time: FleetTime) -> Duration? {
        guard case .acceptedFor(let grace) = reuse else { return nil }
        return grace - request - margin - (time - first) - .seconds(1)
    }

    /// The timing after the server has turned out not to replace refresh tokens.
    package var whereTokensAreKept: FleetTiming {
        FleetTiming(reuse: .accepted, takeoverTimeout: takeoverTimeout)
    }

    /// Returns the lease to request after `delays` consecutive attempts that etcd responded to too late.
    ///
    /// A longer lease leaves more time to send. If the host is destroyed then, the lock may outlast the
    /// grace.
    func lease(afterDelays delays: Int) -> Duration {
        max(lease, min(FleetTiming.maximumLease, lease * (1 << min(max(delays, 0), 8))))
    }

    /// The maximum lifetime of a lease, 30 seconds.
    ///
    /// ``takeoverTimeout`` is longer, so a lock never outlasts it.
    private static let maximumLease = Duration.seconds(30)

    /// The default of ``takeoverTimeout``, 120 seconds.
    ///
    /// A reboot takes no longer.
    package static let defaultTakeoverTimeout = Duration.seconds(120)

    /// Creates the timing for a server with this treatment of used refresh tokens.
    ///
    /// A lease, a request and the margin have to fit into the grace together. If they do not, the grace is
    /// useless, and the times are those of a server without one.
    package init(reuse: RefreshTokenReuse, takeoverTimeout: Duration = defaultTakeoverTimeout) {
        let margin = Duration.seconds(1)
        switch reuse {
        case .acceptedFor(let grace) where grace >= .seconds(30):
            self.init(
                lease: .seconds(15),
                request: .seconds(8),
                margin: margin,
                reuse: reuse,
                takeoverTimeout: takeoverTimeout
            )
        case .acceptedFor(let grace) where grace >= .seconds(10):
            self.init(
                lease: .seconds(5),
                request: .milliseconds(2_500),
                margin: margin,
                reuse: reuse,
                takeoverTimeout: takeoverTimeout
            )
        case .accepted:
            self.init(
                lease: .seconds(30),
                request: .seconds(20),
                margin: margin,
                reuse: reuse,
                takeoverTimeout: takeoverTimeout
            )
        case .acceptedFor, .refused:
            self.init(
                lease: .seconds(30),
                request: .seconds(20),
                margin: margin,
                reuse: .refused,
                takeoverTimeout: takeoverTimeout
            )
        }
    }
}
