// SPDX-License-Identifier: MIT

/// Whether the refresh token of a record may be sent now.
enum FleetTakeover: Equatable, Sendable {
    /// Yes. `until`: only before this moment, because a grace ends.
    case now(until: FleetTime?)
    /// A host is at it.
    case held
    /// An answer is missing, and its host is waited for.
    case notBefore(FleetTime)

    /// - Parameters:
    ///   - view: what etcd shows, with a live record.
    ///   - expiry: when the access token of the record ends, if it does.
    ///   - refused: attempts of this host which the server answered with a refusal.
    ///   - timing: of the server.
    init(
        in view: FleetView,
        expiry: FleetTime?,
        refused: [AttemptID],
        timing: FleetTiming
    ) {
        guard view.lock == nil else {
            self = .held
            return
        }
        // Nobody waits for an answer that has come, although it was none.
        guard let intent = view.presentIntent, !refused.contains(intent.attempt) else {
            self = .now(until: nil)
            return
        }
        switch timing.reuse {
        case .accepted:
            self = .now(until: nil)
            return
        case .acceptedFor(let grace) where view.time - intent.first + timing.request + timing.margin < grace:
            self = .now(until: intent.first + (grace - timing.request - timing.margin))
            return
        case .acceptedFor, .refused: break
        }
        let patient = max(intent.at, expiry ?? intent.at) + timing.patience
        self = view.time < patient ? .notBefore(patient) : .now(until: nil)
    }
}
