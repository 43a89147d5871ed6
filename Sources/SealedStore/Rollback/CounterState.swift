// SPDX-License-Identifier: MIT

import TokenCore

/// How the manifest of an open store fits its counter, and what has to follow.
///
/// A *step* makes every earlier copy of the store an old one: the manifest is made durable with the next value (it is
/// *announced*), then the counter moves there. Steps are not taken with every write: each runs a program, and the
/// memory of a TPM wears out. Logouts and changes of the vault ask for one at once, refreshes for one within
/// ``interval``.
struct CounterState: Equatable {
    /// The longest time without a step while there are only refreshes.
    ///
    /// Ten minutes are at most 52,560 steps a year.
    static let interval = Duration.seconds(600)

    /// What the counter said last.
    private(set) var counter: UInt64
    /// The value in the manifest on the disk; `nil`: none that counts.
    private(set) var stored: UInt64?
    /// The disk holds something that copies with the same value lack.
    private(set) var isChanged = true
    /// The next step does not wait for the interval.
    private(set) var isUrgent = true
    /// A program failed, so the counter may have moved or not.
    private(set) var isUncertain = false
    /// How many tries in a row have failed.
    private(set) var failures = 0
    private var triedAt = Instant.seconds(0)

    /// A store that was just opened: what came before is covered by a step as soon as possible.
    init(counter: UInt64, stored: UInt64?) {
        self.counter = counter
        self.stored = stored
    }

    /// The manifest on the disk is ahead of the counter.
    var isAnnounced: Bool { stored == counter + 1 }

    /// The manifest has to be written before the counter can be left alone or moved.
    var needsManifest: Bool { stored != counter && !isAnnounced }

    /// The value a manifest is written with, which begins a step if it is `announcing`.
    func value(announcing: Bool) -> UInt64 {
        guard let stored else { return counter + 1 }
        return stored > counter || announcing ? counter + 1 : counter
    }

    /// The manifest is on the disk with `value`.
    mutating func wrote(_ value: UInt64) {
        isChanged = value == stored
        if !isChanged { isUrgent = false }
        stored = value
    }

    /// Something changed that an old copy must not bring back.
    mutating func requestStep() {
        isChanged = true
        isUrgent = true
    }

    /// The manifest could not be written.
    mutating func writeFailed(at now: Instant) {
        failures += 1
        triedAt = now
    }

    /// The counter said `value` after it was asked to move, or when it was only read.
    ///
    /// - Returns: what is wrong with that, as a sentence for a person.
    mutating func heard(_ value: UInt64, moving: Bool, at now: Instant) -> String? {
        let before = counter
        guard value > before || value == before && !moving else {
            failed(at: now)
            return "the counter says \(value) after \(before), so it does not count"
        }
        isUncertain = false
        guard value > before else { return nil }
        (counter, failures, triedAt) = (value, 0, now)
        // The first step of a counter in a TPM may be longer.
        guard before > 0, value > before + 1 else { return nil }
        // The store is open here, so it is the latest, whatever else moves the counter.
        return "the counter says \(value) instead of \(before + 1): something else moves it too"
    }

    /// The program gave no usable answer.
    mutating func failed(at now: Instant) {
        failures += 1
        isUncertain = true
        triedAt = now
    }

    /// How long to wait until something is to be done.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isOpen: the manifest can be written.
    /// - Returns: `nil`: nothing before something changes.
    func delay(at now: Instant, isOpen: Bool) -> Duration? {
        let due: Duration
        if isAnnounced || isOpen && needsManifest || isOpen && isChanged && isUrgent {
            due = .zero
        } else if isOpen, isChanged {
            due = CounterState.interval - (now - triedAt)
        } else {
            return nil
        }
        guard failures > 0 else { return max(.zero, due) }
        let pause = Duration.seconds(60) * (1 << min(failures - 1, 6))
        return max(.zero, due, pause - (now - triedAt))
    }
}

extension CounterState {
    /// The standing of a store that was opened with this verdict; `nil` without a counter.
    init?(_ verdict: CounterVerdict, stored: UInt64?) {
        guard let counter = verdict.counter else { return nil }
        self.init(counter: counter, stored: verdict.keepsStored ? stored : nil)
    }
}
