// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import TokenCore

extension SessionAgent {
    /// Does what a session decided, in order.
    func perform(_ effects: [Effect], for name: SessionName, at moment: Moment) {
        for effect in effects { perform(effect, for: name, at: moment) }
    }

    private func perform(_ effect: Effect, for name: SessionName, at moment: Moment) {
        switch effect {
        case .reserve(let attempt, let snapshot): paced(.reserve(attempt, snapshot), for: name, at: moment)
        case .refresh(let request): paced(.send(request), for: name, at: moment)
        case .commit(let number, let snapshot): commit(number, snapshot, for: name)
        case .release(_, let snapshot, let answered): release(snapshot, answered: answered, for: name)
        case .forget: forget(name)
        case .revoke(let request): revoke(request, for: name)
        case .discard(let request): discard(request, for: name)
        case .reply(let waiter, let reply): answer(waiter, reply, at: moment)
        case .finishLogin(let number, let result): finishLogin(number, result, for: name)
        case .finishLogout(let result): finishLogout(result, for: name)
        case .erase(let secret): erase(secret)
        case .reauthenticate(let number, let ways, let account):
            reauthenticate(number, ways, account: account, for: name)
        case .notify(let event): announce(event, for: name, at: moment)
        }
    }

    private func commit(_ number: CommitNumber, _ snapshot: SessionSnapshot, for name: SessionName) {
        sessions[name]?.owesForget = false
        onStoreThread { store in
            store.commit(name, snapshot)
        } then: { agent, outcome in
            agent.apply(name) { session, moment in session.commitFinished(number, outcome, at: moment) }
        }
    }

    /// Removes the session's files, however often it takes: a logout must survive a restart.
    private func forget(_ name: SessionName, failures: Int = 0) {
        sessions[name]?.owesForget = true
        onStoreThread { store -> StorageFailure? in
            do throws(StorageFailure) {
                try store.forget(name)
                return nil
            } catch {
                return error
            }
        } then: { agent, failure in
            guard let failure else {
                agent.sessions[name]?.owesForget = false
                return
            }
            agent.log(.error, "cannot remove the session's files", name, ["error": "\(failure.message)"])
            let seconds = Int64(min(60, 5 << min(failures, 4)))
            agent.eventLoop.scheduleTask(in: .seconds(seconds)) { [weak agent] in
                agent?.assumeIsolated { agent in
                    guard agent.sessions[name]?.owesForget == true, agent.isServing else { return }
                    agent.forget(name, failures: failures + 1)
                }
            }
        }
    }

    private func revoke(_ request: RevocationRequest, for name: SessionName) {
        Task {
            let outcome = await ports.authorization.revoke(name, request)
            let jitter = ports.chance()
            apply(name) { session, moment in
                session.revocationFinished(outcome, jitter: jitter, at: moment)
            }
        }
    }

    private func discard(_ request: RevocationRequest, for name: SessionName) {
        Task {
            _ = await ports.authorization.revoke(name, request)
            for secret in [request.refreshToken, request.accessToken, request.idToken].compactMap(\.self) {
                erase(secret)
            }
        }
    }

    /// Erases behind whatever the store still has to write of it, and behind a request that works with it.
    func erase(_ secret: SecretID) {
        guard lent.mayErase(secret) else { return }
        let vault = ports.vault
        guard storeJobs > 0 else { return vault.erase(secret) }
        onStoreThread { _ in
            vault.erase(secret)
        } then: { _, _ in
        }
    }
}

// MARK: Elsewhere

extension SessionAgent {
    /// Runs `work` on the store's one thread, where everything keeps its order, and comes back with the result.
    func onStoreThread<Result: Sendable>(
        _ work: @escaping @Sendable (any StoreControlling) -> Result,
        then: @escaping @Sendable (isolated SessionAgent, Result) -> Void
    ) {
        let store = ports.store
        inFlight += 1
        storeJobs += 1
        storeJobsBegun += 1
        let finished = pool.runIfActive(eventLoop: eventLoop) { work(store) }
        finished.whenComplete { result in
            self.assumeIsolated { agent in
                agent.inFlight -= 1
                agent.storeJobs -= 1
                if case .success(let value) = result { then(agent, value) }
                agent.noteProgress()
            }
        }
    }

    /// Runs `action` in a later turn of the loop, so that effects keep their order.
    func later(_ action: @escaping @Sendable (isolated SessionAgent) -> Void) {
        inFlight += 1
        eventLoop.execute {
            self.assumeIsolated { agent in
                agent.inFlight -= 1
                action(agent)
                agent.noteProgress()
            }
        }
    }

    /// Waits until nothing is in flight any more, at most `limit`.
    func drain(within limit: TimeAmount) async {
        guard inFlight > 0 else { return }
        let timeout = eventLoop.scheduleTask(in: limit) { [weak self] in
            self?.assumeIsolated { $0.finishDraining() }
        }
        await withCheckedContinuation { drainWaiters.append($0) }
        timeout.cancel()
    }

    func noteProgress() {
        if inFlight == 0 { finishDraining() }
    }

    private func finishDraining() {
        let waiters = drainWaiters
        drainWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    var pausedStorage: StorageFailure {
        StorageFailure(message: phase == .stopping ? "the agent is stopping" : "the agent is locked")
    }
}
