// SPDX-License-Identifier: MIT

/// The time for which all hosts must wait before one of them may send the refresh token, and the reason.
package struct FleetWait: Equatable, Sendable {
    package var time: Duration
    /// The reason, without a full stop.
    package var reason: String
}

extension FleetSnapshot {
    /// Returns the wait that keeps all hosts from sending the refresh token of the record.
    ///
    /// - Parameters:
    ///   - host: the host that asks.
    ///   - expiry: the expiry of its access token by this host's clock, or `nil` if it has none or nobody is
    ///     served with it.
    ///   - timing: the timing for the server.
    ///   - now: the time of the snapshot by this host's clock.
    /// - Returns: the wait, or `nil` if the token may be sent or a host is refreshing.
    package func wait(
        at host: UInt64,
        until expiry: Instant?,
        _ timing: FleetTiming,
        now: Instant
    ) -> FleetWait? {
        guard record?.isLive == true else { return nil }
        let expiry = expiry.map { time + ($0 - now) }
        guard case .notBefore(let end) = FleetSendPermission(in: self, expiry: expiry, timing: timing) else {
            return nil
        }
        return FleetWait(time: max(.zero, end - time), reason: reasonToWait(at: host))
    }
}

/// The permission to send the refresh token of a record now.
enum FleetSendPermission: Equatable, Sendable {
    /// The token may be sent. `within` limits the time after the snapshot, because a grace ends.
    case now(within: Duration?)
    /// Another host has the lock and is refreshing.
    case held
    /// The token may be sent from this time on: until then, a host that may have a missing response is waited
    /// for, or it is too early to confirm a rejection.
    case notBefore(FleetTime)

    /// Decides on a snapshot.
    ///
    /// - Parameters:
    ///   - view: a snapshot with a live record.
    ///   - expiry: the expiry of the record's access token, if it has one.
    ///   - timing: the timing for the server.
    init(
        in view: FleetSnapshot,
        expiry: FleetTime?,
        timing: FleetTiming
    ) {
        guard view.lock == nil else {
            self = .held
            return
        }
        guard let intent = view.presentIntent else {
            self = .now(within: nil)
            return
        }
        guard !intent.isRefused else {
            let settled = intent.at + RetrySchedule.confirmationDelay(jitter: 0)
            self = view.time < settled ? .notBefore(settled) : .now(within: nil)
            return
        }
        guard timing.reuse != .accepted else {
            self = .now(within: nil)
            return
        }
        if let left = timing.graceLeft(since: intent.first, at: view.time), left > .zero {
            self = .now(within: left)
            return
        }
        let patient = max(intent.at, expiry ?? intent.at) + timing.takeoverTimeout
        self = view.time < patient ? .notBefore(patient) : .now(within: nil)
    }
}
