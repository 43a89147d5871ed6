// SPDX-License-Identifier: MIT

import Synchronization

/// The active exchanges with the server, and the requests that are not answered yet.
///
/// Each request is answered once. The caller that settles a request sends the response to the client.
final class ExchangeTable: Sendable {
    private struct Entry {
        var waiting: Set<RPCIdentifier>
        var task: Task<Void, Never>?
        /// Whether the exchange was cancelled before its task was known.
        var isCancelled = false
    }

    /// The contents of the table, under its lock.
    private struct TableContents {
        var next = 0
        var entries: [Int: Entry] = [:]
        /// The exchange that answers a request.
        var owners: [RPCIdentifier: Int] = [:]
        /// The number of settled requests whose responses have not been written to the client yet.
        var untold = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Removes and returns the current waiters if nothing is pending.
        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            guard owners.isEmpty, untold == 0 else { return [] }
            defer { waiters = [] }
            return waiters
        }

        mutating func cancel(_ number: Int) -> Task<Void, Never>? {
            entries[number]?.isCancelled = true
            return entries[number]?.task
        }
    }

    private let state = Mutex(TableContents())

    /// Adds an exchange that answers `requests`.
    ///
    /// A request whose identifier is in use replaces the older request, which is cancelled.
    ///
    /// - Returns: the number of the exchange, or `nil` if there are too many exchanges.
    func begin(_ requests: [RPCIdentifier]) -> Int? {
        let begun = state.withLock { state -> (number: Int, replaced: [Task<Void, Never>])? in
            guard state.entries.count < BridgeLimits.exchanges else { return nil }
            state.next += 1
            let tasks = requests.compactMap { id -> Task<Void, Never>? in
                guard let former = state.owners.updateValue(state.next, forKey: id) else { return nil }
                state.entries[former]?.waiting.remove(id)
                return state.entries[former]?.waiting.isEmpty == true ? state.cancel(former) : nil
            }
            state.entries[state.next] = Entry(waiting: Set(requests))
            return (state.next, tasks)
        }
        for task in begun?.replaced ?? [] { task.cancel() }
        return begun?.number
    }

    /// Sets the task that runs an exchange.
    func attach(_ task: Task<Void, Never>, to number: Int) {
        let isCancelled = state.withLock { state -> Bool in
            state.entries[number]?.task = task
            return state.entries[number]?.isCancelled == true
        }
        if isCancelled { task.cancel() }
    }

    /// Settles a request.
    ///
    /// - Returns: whether the request was pending. If so, the caller must call ``told(_:)``.
    func settle(_ id: RPCIdentifier) -> Bool {
        state.withLock { state -> Bool in
            guard let owner = state.owners.removeValue(forKey: id) else { return false }
            state.entries[owner]?.waiting.remove(id)
            state.untold += 1
            return true
        }
    }

    /// Records that `count` settled requests have been answered to the client.
    func told(_ count: Int) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.untold -= count
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns the pending requests of an exchange.
    func waiting(in number: Int) -> [RPCIdentifier] {
        state.withLock { Array($0.entries[number]?.waiting ?? []) }
    }

    /// Returns the exchange that answers the request `id`, or `nil` if the request is not pending.
    func owner(of id: RPCIdentifier) -> Int? {
        state.withLock { $0.owners[id] }
    }

    /// Abandons a request of the exchange `owner`, and cancels the exchange if no other request is pending.
    func abandon(_ id: RPCIdentifier, in owner: Int) {
        // A later request may use the same identifier.
        guard self.owner(of: id) == owner, settle(id) else { return }
        told(1)
        if waiting(in: owner).isEmpty { cancel(owner) }
    }

    /// Abandons all pending requests.
    func abandonAll() {
        for (id, owner) in state.withLock(\.owners) { abandon(id, in: owner) }
    }

    /// Cancels an exchange.
    func cancel(_ number: Int) {
        state.withLock { $0.cancel(number) }?.cancel()
    }

    /// Removes an exchange that has ended.
    func end(_ number: Int) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            for id in state.entries.removeValue(forKey: number)?.waiting ?? [] { state.owners[id] = nil }
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no request is pending.
    func waitUntilSettled() async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.waiters.append(continuation)
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}
