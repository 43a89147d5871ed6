// SPDX-License-Identifier: MIT

/// The plan for reads of etcd that no request of the session causes: after changes, failures and delays.
struct FleetPollSchedule: Equatable, Sendable {
    /// Whether etcd has changed since the last read began.
    private(set) var isStale = false
    /// The latest revision that the watch has reported since the last read began, if it is newer than that
    /// read.
    private var heard: FleetRevision?
    /// Whether etcd may contain changes that this host has not seen or not finished.
    private(set) var isUnsettled = false
    /// The number of consecutive requests to etcd without a response.
    private var failures = 0
    /// The number of consecutive transactions that etcd did not carry out, even if reads between them
    /// succeeded.
    private var refusedWrites = 0
    /// The write that etcd did not carry out since the host was last idle, although a read had shown that it
    /// could.
    private var declined: FleetWrite?
    /// The time of the next read if no change is reported.
    private(set) var wakeTime: Instant?

    /// Whether a read is needed after the current step.
    var isNeeded: Bool { isStale || heard != nil }

    /// Records that etcd has changed.
    mutating func hear() {
        isStale = true
        isUnsettled = true
    }

    /// Requests a read, because the session needs the current state.
    mutating func ask() { isStale = true }

    /// Records that etcd has changed.
    ///
    /// Any read that shows this revision also shows the change.
    mutating func hear(upTo place: FleetRevision) {
        heard = place
        isUnsettled = true
    }

    /// Records that there is something to finish.
    mutating func unsettle() { isUnsettled = true }

    /// Records the beginning of a read.
    mutating func begin() {
        isStale = false
        heard = nil
        wakeTime = nil
    }

    /// Records that etcd did not carry out the write `errand`.
    ///
    /// - Returns: whether it also failed before, with nothing in between.
    mutating func decline(_ errand: FleetWrite) -> Bool {
        defer { declined = errand }
        return declined == errand
    }

    /// Records that etcd responded to a transaction.
    mutating func succeed() {
        failures = 0
        refusedWrites = 0
    }

    /// Records a read that showed `place`.
    mutating func see(_ place: FleetRevision) {
        failures = 0
        guard let heard, !place.contradicts(heard) else { return }
        self.heard = nil
    }

    /// Records that there is nothing to do, until `time` at most.
    mutating func rest(until time: Instant? = nil) {
        isUnsettled = false
        declined = nil
        wakeTime = time
    }

    /// Records that etcd accepts no transaction.
    ///
    /// The unfinished work is retried later.
    mutating func refuseWrite() {
        refusedWrites += 1
        isUnsettled = true
    }

    /// Records that etcd did not respond, and plans a retry if there is anything to read, finish or publish.
    ///
    /// The watch cannot be relied on to report that etcd is back: a pause is nothing but silence to it.
    mutating func fail(owing isOwing: Bool, jitter: Double, at now: Instant) {
        failures += 1
        guard isUnsettled || isOwing else { return }
        let delay = RetrySchedule.backoff(
            failures: max(failures, refusedWrites),
            cap: FleetPollSchedule.maximumDelay,
            jitter: jitter
        )
        wakeTime = now + delay
    }

    /// The maximum delay before a failed read or write is retried, 60 seconds.
    private static let maximumDelay = Duration.seconds(60)
}
