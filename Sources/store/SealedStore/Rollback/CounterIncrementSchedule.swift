// SPDX-License-Identifier: MIT

import TokenCore

/// The relation of an open store's manifest to its counter, and the steps that follow from it.
///
/// A *step* makes every earlier copy of the store an old one: the manifest is made durable with the next
/// value (it is *announced*), then the counter moves there. There is not a step for every write, because each
/// step runs a program, and the memory of a TPM wears out. Logouts and changes of the vault request a step at
/// once, refreshes within ``interval``.
struct CounterIncrementSchedule: Equatable {
    /// The maximum time between steps while there are only refreshes.
    ///
    /// Ten minutes are at most 52,560 steps a year.
    static let interval = Duration.seconds(600)

    /// The last value reported by the counter.
    private(set) var counter: UInt64
    /// The value in the manifest on the disk, or `nil` if none counts.
    private(set) var stored: UInt64?
    /// Whether the disk has content that copies with the same value lack.
    private(set) var isChanged = true
    /// Whether the next step does not wait for the interval.
    private(set) var isUrgent = true
    /// Whether a program failed, so that the counter may have moved or not.
    private(set) var isUncertain = false
    /// The number of consecutive failures.
    private(set) var failures = 0
    private var triedAt = Instant.seconds(0)

    /// Creates the state of a store that was just opened; a step that covers earlier content is due at once.
    init(counter: UInt64, stored: UInt64?) {
        self.counter = counter
        self.stored = stored
    }

    /// Whether the manifest on the disk is ahead of the counter.
    var isAnnounced: Bool { stored == counter + 1 }

    /// Whether the manifest must be written before the counter can rest or move.
    var needsManifest: Bool { stored != counter && !isAnnounced }

    /// Returns the value for the next manifest, which begins a step if it is `announcing`.
    func value(announcing: Bool) -> UInt64 {
        guard let stored else { return counter + 1 }
        return stored > counter || announcing ? counter + 1 : counter
    }

    /// Records that the manifest is on the disk with `value`.
    mutating func wrote(_ value: UInt64) {
        isChanged = value == stored
        if !isChanged { isUrgent = false }
        stored = value
    }

    /// Records a change that an old copy must not undo.
    mutating func requestStep() {
        isChanged = true
        isUrgent = true
    }

    /// Records that the manifest could not be written.
    mutating func writeFailed(at now: Instant) {
        failures += 1
        triedAt = now
    }

    /// Records that the counter reported `value`, after a request to move or to read.
    ///
    /// - Returns: a sentence for the user that says what is wrong, or `nil`.
    mutating func heard(_ value: UInt64, moving: Bool, at now: Instant) -> String? {
        let before = counter
        guard value > before || value == before && !moving else {
            failed(at: now)
            return "the counter does not count: \(value) after \(before)"
        }
        isUncertain = false
        guard value > before else { return nil }
        (counter, failures, triedAt) = (value, 0, now)
        // The first step of a counter in a TPM may be larger.
        guard before > 0, value > before + 1 else { return nil }
        // The store is open here, so it is the latest one, even if something else moves the counter.
        return "another program also moves the counter: \(value) instead of \(before + 1)"
    }

    /// Records that the program gave no usable response.
    mutating func failed(at now: Instant) {
        failures += 1
        isUncertain = true
        triedAt = now
    }

    /// Returns the time until the next action.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - isOpen: whether the manifest can be written.
    /// - Returns: the delay, or `nil` if nothing is due until something changes.
    func delay(at now: Instant, isOpen: Bool) -> Duration? {
        let due: Duration
        if isAnnounced || isOpen && needsManifest || isOpen && isChanged && isUrgent {
            due = .zero
        } else if isOpen, isChanged {
            due = CounterIncrementSchedule.interval - (now - triedAt)
        } else {
            return nil
        }
        guard failures > 0 else { return max(.zero, due) }
        let delay = Duration.seconds(60) * (1 << min(failures - 1, 6))
        return max(.zero, due, delay - (now - triedAt))
    }
}

extension CounterIncrementSchedule {
    /// Creates the state of a store that was opened with this verdict, or returns `nil` without a counter.
    init?(_ verdict: CounterVerdict, stored: UInt64?) {
        guard let counter = verdict.counter else { return nil }
        self.init(counter: counter, stored: verdict.keepsStored ? stored : nil)
    }
}
