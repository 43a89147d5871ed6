// SPDX-License-Identifier: MIT

/// How long things take between the hosts of a fleet and one authorization server.
package struct FleetTiming: Equatable, Sendable {
    /// What a server does with a refresh token that was sent before.
    package enum Reuse: Equatable, Sendable {
        /// Takes it again: refresh tokens are kept.
        case accepted
        /// Takes it again for this long.
        case acceptedFor(Duration)
        /// Refuses it, and may end the login; or nobody knows.
        case refused
    }

    /// What is asked of etcd for the lease of a lock.
    package var lease: Duration
    /// A server that has the whole request within this time acts on it; else the connection is reset.
    package var request: Duration
    /// For what clocks and whole seconds blur.
    package var margin: Duration
    package var reuse: Reuse
    /// How long after the end of the access token an unanswered attempt is waited for before its token is sent again.
    package var patience: Duration

    package init(lease: Duration, request: Duration, margin: Duration, reuse: Reuse, patience: Duration) {
        self.lease = lease
        self.request = request
        self.margin = margin
        self.reuse = reuse
        self.patience = max(patience, FleetTiming.maximumLease + margin)
    }

    /// Over how long hosts spread that would all do the same at one moment.
    var longestTurn: Duration { patience / 4 }

    /// Returns the time after a look at `time` within which a refresh token that was first sent at `first` may be sent again,
    /// or `nil` if the server has no grace.
    ///
    /// etcd's clock shows whole seconds, so it may be a second later there than it says. What a request takes of a second is not
    /// cut off: of a grace of ten seconds it is much of what is left.
    func graceLeft(since first: FleetTime, at time: FleetTime) -> Duration? {
        guard case .acceptedFor(let grace) = reuse else { return nil }
        return grace - request - margin - (time - first) - .seconds(1)
    }

    /// The timing for a server that has turned out to keep refresh tokens.
    package var whereTokensAreKept: FleetTiming { FleetTiming(reuse: .accepted, patience: patience) }

    /// The lease to request after `delays` attempts in a row that etcd answered too late.
    ///
    /// A longer lease leaves more time to send. If the host is destroyed then, the lock may outlast the grace.
    func lease(afterDelays delays: Int) -> Duration {
        max(lease, min(FleetTiming.maximumLease, lease * (1 << min(max(delays, 0), 8))))
    }

    private static let maximumLease = Duration.seconds(30)

    /// A reboot takes no longer.
    package static let defaultPatience = Duration.seconds(120)

    /// The timing for a server with this habit.
    ///
    /// A lease, a request and the margin have to fit into the grace together: else the grace is of no use, and the
    /// times are those of a server without one.
    package init(reuse: Reuse, patience: Duration = defaultPatience) {
        let margin = Duration.seconds(1)
        switch reuse {
        case .acceptedFor(let grace) where grace >= .seconds(30):
            self.init(
                lease: .seconds(15),
                request: .seconds(8),
                margin: margin,
                reuse: reuse,
                patience: patience
            )
        case .acceptedFor(let grace) where grace >= .seconds(10):
            self.init(
                lease: .seconds(5),
                request: .milliseconds(2_500),
                margin: margin,
                reuse: reuse,
                patience: patience
            )
        case .accepted:
            self.init(
                lease: .seconds(30),
                request: .seconds(20),
                margin: margin,
                reuse: reuse,
                patience: patience
            )
        case .acceptedFor, .refused:
            self.init(
                lease: .seconds(30),
                request: .seconds(20),
                margin: margin,
                reuse: .refused,
                patience: patience
            )
        }
    }
}
