// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Those who wait until a session has a token that can be given without waiting.
///
/// While the agent is locked they wait for it to be unlocked: then their session is asked. One that is worth another try
/// within their time is asked again.
///
/// Confined to the agent's event loop.
final class TokenReadinessWaiters {
    /// Gets `nil` when there is a token, or why there is none.
    typealias Completion = @Sendable (RequestFailure?) -> Void

    private struct Waiting {
        var session: SessionName
        var done: Completion
        var end: NIODeadline
        var limit: Scheduled<Void>
        /// Whether the session has been asked and will answer.
        var isAsked = false
    }

    /// Longest wait: a program that reads a token, such as systemd before it starts a unit, waits for it alone.
    private static let patience = Duration.seconds(10)

    private var waiting: [WaiterID: Waiting] = [:]
    /// Far from the numbers of programs' requests, which count up from one, of files, which do from the middle, and
    /// of sources, which count down from the end.
    private var next: UInt64 = 1 << 62

    /// Gets `session` a token, and calls `done` once, at the latest after ``patience``.
    func prepare(
        _ session: SessionName,
        in agent: isolated SessionAgent,
        then done: @escaping Completion
    ) {
        agent.rest.clocks.compare(in: agent)
        if agent.isServing, agent.sessions[session]?.standing(at: agent.now) != nil { return done(nil) }
        let waiter = WaiterID(rawValue: next)
        next += 1
        let patience = TimeAmount.nanoseconds(Self.patience.saturatedNanoseconds)
        let limit = agent.eventLoop.scheduleTask(in: patience) { [weak agent] in
            guard let agent else { return }
            agent.assumeIsolated { $0.requests.tokens.preparations.giveUp(waiter, in: $0) }
        }
        waiting[waiter] = Waiting(session: session, done: done, end: .now() + patience, limit: limit)
        askUnlessLocked(for: waiter, in: agent)
    }

    private func askUnlessLocked(for waiter: WaiterID, in agent: isolated SessionAgent) {
        if agent.isServing || agent.phase == .stopping { ask(for: waiter, in: agent) }
    }

    /// How many wait.
    var count: Int { waiting.count }

    /// Asks the sessions of those who wait, now that the agent serves.
    func goOn(in agent: isolated SessionAgent) {
        for waiter in waiting.keys.sorted(by: { $0.rawValue < $1.rawValue }) { ask(for: waiter, in: agent) }
    }

    private func ask(for waiter: WaiterID, in agent: isolated SessionAgent) {
        guard let name = waiting[waiter]?.session, waiting[waiter]?.isAsked == false else { return }
        guard agent.isServing else { return finish(waiter, agent.stopping) }
        guard agent.sessions[name] != nil else { return finish(waiter, .unknown(name)) }
        waiting[waiter]?.isAsked = true
        agent.apply(name) { session, moment in
            session.tokenRequested(
                by: waiter,
                TokenRequirements(deadline: moment.now + Self.patience),
                at: moment
            )
        }
        agent.refreshes.demand(name, in: agent)
    }

    /// Takes the answer of a session, if it is for one of those that wait here.
    /// - Returns: whether it is.
    func answer(_ waiter: WaiterID, _ reply: Reply, in agent: isolated SessionAgent) -> Bool {
        guard let session = waiting[waiter]?.session else { return false }
        switch reply {
        case .token: finish(waiter, nil)
        case .failure(.temporarilyUnavailable(_, let pause?)) where lasts(waiter, for: pause):
            waiting[waiter]?.isAsked = false
            agent.eventLoop.scheduleTask(in: .nanoseconds(pause.saturatedNanoseconds)) { [weak agent] in
                agent?.assumeIsolated { $0.requests.tokens.preparations.askUnlessLocked(for: waiter, in: $0) }
            }
        case .failure(let failure): finish(waiter, RequestFailure(failure, of: session))
        }
        return true
    }

    private func lasts(_ waiter: WaiterID, for pause: Duration) -> Bool {
        guard let end = waiting[waiter]?.end else { return false }
        return NIODeadline.now() + .nanoseconds(pause.saturatedNanoseconds) < end
    }

    /// Tells everybody who waits, or only those who wait for one session, that there will be no token.
    func refuse(
        _ failure: RequestFailure,
        for session: SessionName? = nil,
        in agent: isolated SessionAgent
    ) {
        for (waiter, entry) in waiting where session == nil || entry.session == session {
            withdraw(waiter, in: agent)
            finish(waiter, failure)
        }
    }

    /// Takes back what the sessions were asked for: the agent locks, and who waits here goes on waiting.
    func withdrawAll(in agent: isolated SessionAgent) {
        for waiter in waiting.keys { withdraw(waiter, in: agent) }
    }

    private func giveUp(_ waiter: WaiterID, in agent: isolated SessionAgent) {
        let failure = RequestFailure(
            code: .temporarilyUnavailable,
            message: "There was no token within \(Self.patience.wholeSeconds) s."
        )
        withdraw(waiter, in: agent)
        finish(waiter, agent.isServing ? failure : agent.stopping)
    }

    private func withdraw(_ waiter: WaiterID, in agent: isolated SessionAgent) {
        guard let session = waiting[waiter]?.session, waiting[waiter]?.isAsked == true else { return }
        waiting[waiter]?.isAsked = false
        agent.apply(session) { session, _ in session.requestWithdrawn(by: waiter) }
    }

    private func finish(_ waiter: WaiterID, _ failure: RequestFailure?) {
        guard let entry = waiting.removeValue(forKey: waiter) else { return }
        entry.limit.cancel()
        entry.done(failure)
    }
}
