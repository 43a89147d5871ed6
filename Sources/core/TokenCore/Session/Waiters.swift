// SPDX-License-Identifier: MIT

/// The requests that wait for a refresh, in order of arrival.
struct Waiters: Equatable, Sendable {
    struct Waiter: Equatable, Sendable {
        var need: TokenRequirements
        /// The moment after which the token must be obtained, because a refresh was explicitly requested.
        var newerThan: Instant?
        /// The reason for a refresh caused by this request.
        var reason = RefreshReason.asked
        /// The time at which a token in doubt is served instead of a newer one, if that is before the
        /// deadline.
        var doubtAcceptedAt: Instant?

        /// The time at which the request is decided again, though nothing has happened.
        var decisionTime: Instant { min(doubtAcceptedAt ?? need.deadline, need.deadline) }
    }

    private(set) var byID: [WaiterID: Waiter] = [:]
    private(set) var order: [WaiterID] = []

    var isEmpty: Bool { byID.isEmpty }

    /// The earliest time at which a waiter is decided again.
    private(set) var earliestDecision: Instant?

    mutating func add(_ id: WaiterID, _ waiter: Waiter) {
        byID[id] = waiter
        order.append(id)
        earliestDecision = min(earliestDecision ?? waiter.decisionTime, waiter.decisionTime)
    }

    /// Removes a waiter.
    ///
    /// - Returns: `false` if it is not among the waiters.
    mutating func remove(_ id: WaiterID) -> Bool {
        guard byID.removeValue(forKey: id) != nil else { return false }
        order.removeAll { $0 == id }
        earliestDecision = byID.values.map(\.decisionTime).min()
        return true
    }

    /// Removes the waiters for which `decide` returns a reply, and returns the replies in order of arrival.
    mutating func answer(_ decide: (Waiter) -> Reply?) -> [Effect] {
        var effects: [Effect] = []
        var remaining: [WaiterID] = []
        for id in order {
            guard let waiter = byID[id] else { continue }
            if let reply = decide(waiter) {
                byID[id] = nil
                effects.append(.reply(id, reply))
            } else {
                remaining.append(id)
            }
        }
        order = remaining
        earliestDecision = byID.values.map(\.decisionTime).min()
        return effects
    }

    /// Lets the requests wait for a newer token until their deadline, if they have accepted a token in doubt
    /// by `now` and there is none to serve.
    mutating func withdrawAcceptance(at now: Instant) {
        for (id, waiter) in byID {
            if let time = waiter.doubtAcceptedAt, time <= now { byID[id]?.doubtAcceptedAt = nil }
        }
        earliestDecision = byID.values.map(\.decisionTime).min()
    }

    /// Returns the reason of the longest waiting request for `variant`.
    func reason(for variant: TokenVariant) -> RefreshReason {
        order.lazy.compactMap { byID[$0] }.first { $0.need.variant == variant }?.reason ?? .asked
    }

    /// Returns the variant that is needed next, among the foreign requests or among the owner's.
    ///
    /// The login's own token, which most programs use, precedes those of other scopes and audiences. Of these
    /// the one that was requested first is next.
    func nextVariant(isForeign: Bool) -> TokenVariant? {
        let needs = order.lazy.compactMap { byID[$0]?.need }.filter { $0.isForeign == isForeign }
        return needs.contains { $0.variant == .primary } ? .primary : needs.first?.variant
    }

    /// Returns whether there are requests for `variant`, all of them through a `[[socket]]`.
    func areForeign(for variant: TokenVariant) -> Bool {
        let needs = byID.values.lazy.map(\.need).filter { $0.variant == variant }
        return !needs.isEmpty && needs.allSatisfy(\.isForeign)
    }
}
