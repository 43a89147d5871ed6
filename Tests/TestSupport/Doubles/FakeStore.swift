// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization
import TokenCore

/// A store in memory that records every call and can be told to fail.
package final class FakeStore: SessionStoring {
    /// A recorded call.
    package enum Call: Equatable, Sendable {
        case reserve(SessionName, SessionSnapshot)
        case commit(SessionName, SessionSnapshot)
        case release(SessionName, answered: Bool)
        case forget(SessionName)
        /// A call that breaks the port's contract: a reservation while one is open, or a release without one.
        case impossible(String)
    }

    private struct State {
        var calls: [Call] = []
        var records: [SessionName: SessionSnapshot] = [:]
        var reserved: Set<SessionName> = []
        var reserveFailure: StorageFailure?
        var commitOutcome = CommitDurability.durable
    }

    private let state = Mutex(State())
    private let gate = Mutex<DispatchSemaphore?>(nil)
    private let commitGate = Mutex<DispatchSemaphore?>(nil)
    private let waiting = Mutex(0)

    package init() {}

    /// Blocks every reservation from now on, on the store's thread, until ``letReservationsGo(_:)``.
    package func holdReservations() {
        gate.withLock { $0 = DispatchSemaphore(value: 0) }
    }

    /// Lets `count` blocked or future reservations continue.
    package func letReservationsGo(_ count: Int) {
        guard let gate = gate.withLock({ $0 }) else { return }
        for _ in 0..<count { gate.signal() }
    }

    /// Blocks every commit from now on, on the store's thread, until ``letCommitsGo()``.
    package func holdCommits() {
        commitGate.withLock { $0 = DispatchSemaphore(value: 0) }
    }

    /// Lets the blocked commit and all future ones continue.
    package func letCommitsGo() {
        commitGate.withLock { gate in
            gate?.signal()
            gate = nil
        }
    }

    /// The number of blocked commits.
    package var heldCommits: Int { waiting.withLock { $0 } }

    package var calls: [Call] { state.withLock(\.calls) }

    /// The records on the simulated disk.
    package var records: [SessionName: SessionSnapshot] { state.withLock(\.records) }

    /// The calls that break the contract.
    ///
    /// A test ends with `#expect(store.impossibleCalls.isEmpty)`.
    package var impossibleCalls: [Call] {
        calls.filter {
            if case .impossible = $0 { true } else { false }
        }
    }

    /// Makes reservations fail until called with `nil`.
    package func refuseReservations(_ failure: StorageFailure?) {
        state.withLock { $0.reserveFailure = failure }
    }

    /// Sets the result of commits from now on.
    package func endCommits(_ outcome: CommitDurability) {
        state.withLock { $0.commitOutcome = outcome }
    }

    package func reserve(_ session: SessionName, _ snapshot: SessionSnapshot) throws(StorageFailure) {
        gate.withLock { $0 }?.wait()
        try state.withLock { state throws(StorageFailure) in
            state.calls.append(.reserve(session, snapshot))
            if let failure = state.reserveFailure { throw failure }
            if !state.reserved.insert(session).inserted {
                state.calls.append(.impossible("second reservation of \(session)"))
            }
        }
    }

    package func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitDurability {
        if let gate = commitGate.withLock({ $0 }) {
            waiting.withLock { $0 += 1 }
            gate.wait()
            waiting.withLock { $0 -= 1 }
        }
        return state.withLock { state in
            state.calls.append(.commit(session, snapshot))
            state.reserved.remove(session)
            if case .memoryOnly = state.commitOutcome { return state.commitOutcome }
            state.records[session] = snapshot
            return state.commitOutcome
        }
    }

    package func release(_ session: SessionName, answered: Bool) {
        state.withLock { state in
            state.calls.append(.release(session, answered: answered))
            if state.reserved.remove(session) == nil {
                state.calls.append(.impossible("release of \(session) without reservation"))
            }
        }
    }

    package func forget(_ session: SessionName) throws(StorageFailure) {
        state.withLock { state in
            state.calls.append(.forget(session))
            state.records[session] = nil
            state.reserved.remove(session)
        }
    }
}
