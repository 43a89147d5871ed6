// SPDX-License-Identifier: MIT

/// The requests that wait for a refresh, in the order they came.
struct Waiters: Equatable, Sendable {
    struct Waiter: Equatable, Sendable {
        var need: TokenRequirements
        /// Only a token obtained after this moment will do: a refresh was asked for by name.
        var newerThan: Instant?
        /// Why a refresh for this request is made.
        var reason = RefreshReason.asked
    }

    private(set) var byID: [WaiterID: Waiter] = [:]
    private(set) var order: [WaiterID] = []

    var isEmpty: Bool { byID.isEmpty }

    /// When the first of them gives up.
    private(set) var earliestDeadline: Instant?

    mutating func add(_ id: WaiterID, _ waiter: Waiter) {
        byID[id] = waiter
        order.append(id)
        earliestDeadline = min(earliestDeadline ?? waiter.need.deadline, waiter.need.deadline)
    }

    /// Removes one; `false` when it is not among them.
    mutating func remove(_ id: WaiterID) -> Bool {
        guard byID.removeValue(forKey: id) != nil else { return false }
        order.removeAll { $0 == id }
        earliestDeadline = byID.values.map(\.need.deadline).min()
        return true
    }

    /// Removes and returns those for which `decide` has an answer, in their order.
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
        earliestDeadline = byID.values.map(\.need.deadline).min()
        return effects
    }

    /// Why the longest waiting request for `variant` waits.
    func reason(for variant: TokenVariant) -> RefreshReason {
        order.lazy.compactMap { byID[$0] }.first { $0.need.variant == variant }?.reason ?? .asked
    }

    /// The variant that is needed next, among the foreign ones or among the owner's: the login's own token, which most
    /// programs use, before those of other scopes and audiences, and of these the one that was asked for first.
    func nextVariant(isForeign: Bool) -> TokenVariant? {
        let needs = order.lazy.compactMap { byID[$0]?.need }.filter { $0.isForeign == isForeign }
        return needs.contains { $0.variant == .primary } ? .primary : needs.first?.variant
    }

    /// Whether somebody waits for `variant`, and all who do asked through a `[[socket]]`.
    func areForeign(for variant: TokenVariant) -> Bool {
        let needs = byID.values.lazy.map(\.need).filter { $0.variant == variant }
        return !needs.isEmpty && needs.allSatisfy(\.isForeign)
    }
}
