// SPDX-License-Identifier: MIT

import TokenCore

/// Carries out what sessions decide.
protocol EffectPerforming: AnyObject {
    /// Handles a change of a session, before any of its effects.
    func sessionChanged(_ name: SessionName)
    /// Carries out one effect of a session's event.
    func perform(_ effect: Effect, for name: SessionName, at moment: Moment)
}

/// All sessions, and the order of events that change them.
///
/// Applying an event never suspends: long jobs run elsewhere, and their results return as further events.
///
/// - Entry points: ``apply(_:_:)`` for an event, ``ask(_:_:)`` for a question.
/// - May not: decide anything; `Session` (TokenCore) does.
///
/// Confined to the agent's event loop.
final class SessionRegistry {
    private(set) var entries: [SessionName: SessionEntry] = [:]
    private let timekeeper: any Timekeeper
    private let chance: @Sendable () -> Double
    /// Fires when a session needs attention.
    private let alarm: Alarm<SessionName>
    /// Carries out the effects; set once all parts exist.
    weak var effects: (any EffectPerforming)?

    init(timekeeper: any Timekeeper, chance: @escaping @Sendable () -> Double, alarm: Alarm<SessionName>) {
        self.timekeeper = timekeeper
        self.chance = chance
        self.alarm = alarm
    }

    /// The session called `name`, or `nil` if there is none.
    subscript(name: SessionName) -> SessionEntry? { entries[name] }

    // MARK: Events

    /// Applies an event to a session, and performs the resulting effects.
    func apply(_ name: SessionName, _ event: (inout Session, Moment) -> [Effect]) {
        guard let kept = entries[name] else { return }
        let moment = timekeeper.moment
        let effects = event(&kept.session, moment)
        follow(effects, of: name, at: moment)
    }

    /// Returns the result of a query that may change the session, or `nil` if the session does not exist.
    ///
    /// The caller passes the resulting effects to ``follow(_:of:at:)``.
    func ask<Value>(_ name: SessionName, _ question: (inout Session, Moment) -> Value) -> Value? {
        entries[name].map { question(&$0.session, timekeeper.moment) }
    }

    /// Performs a session's effects in order, and schedules its next wake time.
    func follow(_ effects: [Effect], of name: SessionName, at moment: Moment) {
        self.effects?.sessionChanged(name)
        for effect in effects { self.effects?.perform(effect, for: name, at: moment) }
        planWake(name)
    }

    /// Changes the counters of a session.
    func count(of name: SessionName, _ change: (inout SessionCounters) -> Void) {
        if let kept = entries[name] { change(&kept.counts) }
    }

    // MARK: Time

    /// Calls `ring` on the event loop when a session is due; `ring` calls ``timeReached()``.
    func onFire(_ ring: @escaping () -> Void) {
        alarm.onFire(ring)
    }

    /// Wakes every session that is due, and then calls `next` before the alarm is set again.
    func timeReached(then next: () -> Void) {
        for name in alarm.takeDue() {
            let jitter = chance()
            apply(name) { session, moment in session.timeReached(moment, jitter: jitter) }
        }
        next()
        alarm.set()
    }

    func planWake(_ name: SessionName) {
        alarm.plan(name, at: entries[name]?.session.wakeTime)
    }

    // MARK: Entries

    func add(_ entry: SessionEntry) {
        entries[entry.session.name] = entry
    }

    /// Removes a session, and returns its entry.
    func remove(_ name: SessionName) -> SessionEntry? {
        defer { planWake(name) }
        return entries.removeValue(forKey: name)
    }

    /// Drops all sessions, because the agent locks.
    func removeAll() {
        entries = [:]
    }

    func cancelWakes() {
        alarm.cancel()
    }
}
