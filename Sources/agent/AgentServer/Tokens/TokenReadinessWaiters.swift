// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The waiters for a session to have a token that can be served without waiting.
///
/// While the agent is locked they wait for it to be unlocked, and then request a token from their session. If
/// that fails and a retry fits into their time, they retry. Confined to the agent's event loop.
final class TokenReadinessWaiters {
    /// A closure that gets `nil` when there is a token, or the reason there is none.
    typealias Completion = @Sendable (RequestFailure?) -> Void

    private struct Waiting {
        var session: SessionName
        var done: Completion
        var end: NIODeadline
        var limit: Scheduled<Void>
        /// Whether the session has the request and will answer it.
        var isAsked = false
    }

    /// The maximum wait of 10 seconds: a program that reads a token, such as systemd before it starts a unit,
    /// does nothing else.
    private static let timeout = Duration.seconds(10)

    private let registry: SessionRegistry
    private let refreshes: RefreshCoordinator
    private let phase: AgentPhase
    private let clocks: ClockStepDetector
    private let timekeeper: any Timekeeper
    private let eventLoop: any EventLoop
    private var waiting: [WaiterID: Waiting] = [:]
    /// The next waiter ID, far from those of programs' requests (from one), files (from the middle) and
    /// sources (down from the maximum).
    private var next: UInt64 = 1 << 62

    init(
        registry: SessionRegistry,
        refreshes: RefreshCoordinator,
        phase: AgentPhase,
        clocks: ClockStepDetector,
        timekeeper: any Timekeeper,
        eventLoop: any EventLoop
    ) {
        self.registry = registry
        self.refreshes = refreshes
        self.phase = phase
        self.clocks = clocks
        self.timekeeper = timekeeper
        self.eventLoop = eventLoop
    }

    /// Obtains a token for `session` and calls `done` once, at the latest after ``timeout``.
    func prepare(_ session: SessionName, then done: @escaping Completion) {
        clocks.compare()
        if phase.isServing, registry[session]?.standing(at: timekeeper.now) != nil { return done(nil) }
        let waiter = WaiterID(rawValue: next)
        next += 1
        let timeout = TimeAmount.nanoseconds(Self.timeout.saturatedNanoseconds)
        let limit = eventLoop.assumeIsolated().scheduleTask(in: timeout) { [weak self] () -> Void in
            self?.giveUp(waiter)
        }
        waiting[waiter] = Waiting(session: session, done: done, end: .now() + timeout, limit: limit)
        askUnlessLocked(for: waiter)
    }

    private func askUnlessLocked(for waiter: WaiterID) {
        if phase.isServing || phase.current == .stopping { ask(for: waiter) }
    }

    /// The number of waiters.
    var count: Int { waiting.count }

    /// Sends the requests of all waiters to their sessions, as the agent is serving again.
    func proceed() {
        for waiter in waiting.keys.sorted(by: { $0.rawValue < $1.rawValue }) { ask(for: waiter) }
    }

    private func ask(for waiter: WaiterID) {
        guard let name = waiting[waiter]?.session, waiting[waiter]?.isAsked == false else { return }
        guard phase.isServing else { return finish(waiter, phase.refusal) }
        guard registry[name] != nil else { return finish(waiter, .unknown(name)) }
        waiting[waiter]?.isAsked = true
        registry.apply(name) { session, moment in
            session.tokenRequested(
                by: waiter,
                TokenRequirements(deadline: moment.now + Self.timeout),
                at: moment
            )
        }
        refreshes.tokenRequest(name)
    }

    /// Handles the reply of a session to a waiter.
    ///
    /// - Returns: `true` if the waiter is one of these.
    func answer(_ waiter: WaiterID, _ reply: Reply) -> Bool {
        guard let session = waiting[waiter]?.session else { return false }
        switch reply {
        case .token: finish(waiter, nil)
        case .failure(.temporarilyUnavailable(_, let delay?, _)) where lasts(waiter, for: delay):
            waiting[waiter]?.isAsked = false
            eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.saturatedNanoseconds)) {
                [weak self] in
                self?.askUnlessLocked(for: waiter)
            }
        case .failure(let failure): finish(waiter, RequestFailure(failure, of: session))
        }
        return true
    }

    private func lasts(_ waiter: WaiterID, for delay: Duration) -> Bool {
        guard let end = waiting[waiter]?.end else { return false }
        return NIODeadline.now() + .nanoseconds(delay.saturatedNanoseconds) < end
    }

    /// Tells all waiters, or only those for one session, that there will be no token.
    func refuse(_ failure: RequestFailure, for session: SessionName? = nil) {
        for (waiter, entry) in waiting where session == nil || entry.session == session {
            withdraw(waiter)
            finish(waiter, failure)
        }
    }

    /// Withdraws the waiters' requests from the sessions, as the agent locks.
    ///
    /// The waiters keep waiting.
    func withdrawAll() {
        for waiter in waiting.keys { withdraw(waiter) }
    }

    private func giveUp(_ waiter: WaiterID) {
        let failure = RequestFailure(
            code: .temporarilyUnavailable,
            message: "no token within \(Self.timeout.wholeSeconds) s"
        )
        withdraw(waiter)
        finish(waiter, phase.isServing ? failure : phase.refusal)
    }

    private func withdraw(_ waiter: WaiterID) {
        guard let session = waiting[waiter]?.session, waiting[waiter]?.isAsked == true else { return }
        waiting[waiter]?.isAsked = false
        registry.apply(session) { session, _ in session.requestWithdrawn(by: waiter) }
    }

    private func finish(_ waiter: WaiterID, _ failure: RequestFailure?) {
        guard let entry = waiting.removeValue(forKey: waiter) else { return }
        entry.limit.cancel()
        entry.done(failure)
    }
}
