// SPDX-License-Identifier: MIT

import Synchronization

/// The exchanges with the server that are under way, and the requests that have no answer yet.
///
/// Each request is answered once: whoever settles it tells the client.
final class ExchangeTable: Sendable {
    private struct Entry {
        var waiting: Set<RPCIdentifier>
        var task: Task<Void, Never>?
        /// Whether it was cancelled before its task was known.
        var isCancelled = false
    }

    private struct State {
        var next = 0
        var entries: [Int: Entry] = [:]
        /// The exchange that answers a request.
        var owners: [RPCIdentifier: Int] = [:]
        /// How many requests are settled of whose answers the client has not been told yet.
        var untold = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// The present waiters, if there is nothing more to wait for.
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

    private let state = Mutex(State())

    /// Takes up an exchange that shall answer `requests`; `nil`: there are too many.
    ///
    /// A request whose identifier is in use takes the place of the older one, which is cancelled.
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

    /// Names the task that carries an exchange out.
    func attach(_ task: Task<Void, Never>, to number: Int) {
        let isCancelled = state.withLock { state -> Bool in
            state.entries[number]?.task = task
            return state.entries[number]?.isCancelled == true
        }
        if isCancelled { task.cancel() }
    }

    /// Whether the request waited for an answer until now; if so, the caller owes ``told(_:)``.
    func settle(_ id: RPCIdentifier) -> Bool {
        state.withLock { state -> Bool in
            guard let owner = state.owners.removeValue(forKey: id) else { return false }
            state.entries[owner]?.waiting.remove(id)
            state.untold += 1
            return true
        }
    }

    /// The client has been told the answers of so many requests that were settled.
    func told(_ count: Int) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.untold -= count
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// The requests of an exchange that wait for an answer.
    func waiting(in number: Int) -> [RPCIdentifier] {
        state.withLock { Array($0.entries[number]?.waiting ?? []) }
    }

    /// The exchange that is to answer the request `id`, if it waits for an answer.
    func owner(of id: RPCIdentifier) -> Int? {
        state.withLock { $0.owners[id] }
    }

    /// Gives up a request of the exchange `owner`, which the client wants no answer to; ends the exchange if nothing else
    /// waits there.
    func abandon(_ id: RPCIdentifier, in owner: Int) {
        // A later request may have taken the identifier over.
        guard self.owner(of: id) == owner, settle(id) else { return }
        told(1)
        if waiting(in: owner).isEmpty { cancel(owner) }
    }

    /// Gives up all requests that wait for an answer.
    func abandonAll() {
        for (id, owner) in state.withLock(\.owners) { abandon(id, in: owner) }
    }

    /// Ends an exchange before its time.
    func cancel(_ number: Int) {
        state.withLock { $0.cancel(number) }?.cancel()
    }

    /// Forgets an exchange that has ended.
    func end(_ number: Int) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            for id in state.entries.removeValue(forKey: number)?.waiting ?? [] { state.owners[id] = nil }
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when no request waits for an answer.
    func untilSettled() async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.waiters.append(continuation)
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}
