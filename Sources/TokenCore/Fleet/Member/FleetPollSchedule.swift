// SPDX-License-Identifier: MIT

/// When a host looks at etcd although its session wants nothing.
struct FleetPollSchedule: Equatable, Sendable {
    /// Something has changed in etcd since the last look began.
    private(set) var isStale = false
    /// The latest place that the watch has shown since then, if it showed more than the last look.
    private var heard: FleetRevision?
    /// etcd may have something that this host has not seen, or has not finished.
    private(set) var isUnsettled = false
    /// Calls of etcd in a row that had no answer.
    private var failures = 0
    /// Transactions in a row that etcd has not carried out, whether it could be read between them or not.
    private var refusedWrites = 0
    /// What etcd did not carry out since the host was last at rest, although a look had shown that it could.
    private var declined: FleetWrite?
    /// When it looks again although nothing says that anything has changed.
    private(set) var wakeTime: Instant?

    /// It has to look once what is under way is over.
    var isNeeded: Bool { isStale || heard != nil }

    /// Something has changed.
    mutating func hear() {
        isStale = true
        isUnsettled = true
    }

    /// The session wants to know what there is.
    mutating func ask() { isStale = true }

    /// Something has changed, and any look that shows this place shows it too.
    mutating func hear(upTo place: FleetRevision) {
        heard = place
        isUnsettled = true
    }

    /// There is something to finish.
    mutating func unsettle() { isUnsettled = true }

    /// A look begins.
    mutating func begin() {
        isStale = false
        heard = nil
        wakeTime = nil
    }

    /// etcd did not carry `errand` out.
    ///
    /// - Returns: whether it did not before, and nothing has come in between.
    mutating func decline(_ errand: FleetWrite) -> Bool {
        defer { declined = errand }
        return declined == errand
    }

    /// etcd has answered a transaction.
    mutating func succeed() {
        failures = 0
        refusedWrites = 0
    }

    /// A look has shown `place`.
    mutating func see(_ place: FleetRevision) {
        failures = 0
        guard let heard, !place.contradicts(heard) else { return }
        self.heard = nil
    }

    /// There is nothing to do, until `time` at most.
    mutating func rest(until time: Instant? = nil) {
        isUnsettled = false
        declined = nil
        wakeTime = time
    }

    /// etcd takes no transaction: there is something to finish, and it is tried again later.
    mutating func refuseWrite() {
        refusedWrites += 1
        isUnsettled = true
    }

    /// etcd has not answered: it is asked again later, if there is anything to see or to finish, or this host owes it something.
    ///
    /// The watch need not tell that it is back: to it a pause is nothing but silence.
    mutating func fail(owing isOwing: Bool, jitter: Double, at now: Instant) {
        failures += 1
        guard isUnsettled || isOwing else { return }
        let delay = RetrySchedule.backoff(
            failures: max(failures, refusedWrites),
            cap: FleetPollSchedule.longestPause,
            jitter: jitter
        )
        wakeTime = now + delay
    }

    private static let longestPause = Duration.seconds(60)
}
