// SPDX-License-Identifier: MIT

/// For how long nobody sends a refresh token, and why.
package struct FleetWait: Equatable, Sendable {
    package var time: Duration
    /// Without a full stop.
    package var reason: String
}

extension FleetSnapshot {
    /// What keeps everybody from sending the refresh token of the record.
    ///
    /// - Parameters:
    ///   - host: who asks.
    ///   - expiry: when its access token ends, by this host's clock; `nil`: never, or nobody is served with it.
    ///   - timing: of the server.
    ///   - now: when it is what etcd shows.
    /// - Returns: `nil` if it may be sent, or a host is at it.
    package func wait(
        at host: UInt64,
        until expiry: Instant?,
        _ timing: FleetTiming,
        now: Instant
    ) -> FleetWait? {
        guard record?.isLive == true else { return nil }
        let expiry = expiry.map { time + ($0 - now) }
        guard case .notBefore(let end) = FleetTakeover(in: self, expiry: expiry, timing: timing) else {
            return nil
        }
        return FleetWait(time: max(.zero, end - time), reason: reasonToWait(at: host))
    }
}

/// Whether the refresh token of a record may be sent now.
enum FleetTakeover: Equatable, Sendable {
    /// Yes. `within`: only for so long after what etcd shows, because a grace ends.
    case now(within: Duration?)
    /// A host is at it.
    case held
    /// An answer is missing, and its host is waited for; or it was a refusal, and it is too early to confirm it.
    case notBefore(FleetTime)

    /// - Parameters:
    ///   - view: what etcd shows, with a live record.
    ///   - expiry: when the access token of the record ends, if it does.
    ///   - timing: of the server.
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
        let patient = max(intent.at, expiry ?? intent.at) + timing.patience
        self = view.time < patient ? .notBefore(patient) : .now(within: nil)
    }
}
