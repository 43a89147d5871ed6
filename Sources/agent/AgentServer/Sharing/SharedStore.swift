// SPDX-License-Identifier: MIT

import TokenCore

/// The store that the hosts of a fleet share, and the watch of its keys.
///
/// Confined to the agent's event loop.
final class SharedStore {
    private enum State {
        /// The store is not open. Next: `opening` with the first session that is shared.
        case closed
        /// The store is being opened. Next: `open`, or `failed`.
        case opening(Task<Void, Never>)
        /// Opening failed, and is tried again after a delay.
        ///
        /// Next: `opening`.
        case failed(FleetStoreError)
        /// The store is open. Next: `closed` when the agent locks or stops.
        case open(any FleetSharing)
    }

    private let tasks: LoopTasks
    private var state = State.closed
    /// The number of attempts to open the store.
    ///
    /// The result of an earlier, abandoned attempt is ignored.
    private var openings = 0
    private var watch: Task<Void, Never>?
    /// The error of the watch, or `nil` if it works or was not tried.
    private var watchError: FleetStoreError?

    init(tasks: LoopTasks) {
        self.tasks = tasks
    }

    /// The open store, or `nil` while it is not open.
    var sharing: (any FleetSharing)? {
        if case .open(let sharing) = state { sharing } else { nil }
    }

    /// The error that opening the store has failed with, or `nil` if it succeeded or was not tried.
    var failure: FleetStoreError? {
        if case .failed(let storeError) = state { storeError } else { nil }
    }

    /// The error that makes the store unavailable, or `nil` if there is none.
    var storeError: FleetStoreError? { failure ?? watchError }

    var isOpening: Bool {
        if case .opening = state { true } else { false }
    }

    /// Starts to open the store, unless it is already being opened, and calls `then` with the result.
    func open(
        _ port: FleetDependencies,
        then: @escaping (Result<any FleetSharing, FleetStoreError>) -> Void
    ) {
        guard !isOpening else { return }
        openings += 1
        let number = openings
        state = .opening(
            tasks.start {
                let opened: Result<any FleetSharing, FleetStoreError>
                do throws(FleetStoreError) {
                    opened = .success(try await port.open())
                } catch {
                    opened = .failure(error)
                }
                guard self.take(opened, of: number) else { return }
                then(opened)
            }
        )
    }

    /// Stores the result of opening the store.
    ///
    /// - Returns: `true` if the result is still needed.
    private func take(_ opened: Result<any FleetSharing, FleetStoreError>, of number: Int) -> Bool {
        guard isOpening, number == openings else {
            if case .success(let sharing) = opened { SharedStore.close(sharing) }
            return false
        }
        switch opened {
        case .success(let sharing): state = .open(sharing)
        case .failure(let storeError): state = .failed(storeError)
        }
        return true
    }

    /// Waits until the store is open or has failed to open.
    func waitUntilOpened() async {
        if case .opening(let task) = state { await task.value }
    }

    /// Watches the keys in etcd of these sessions only, and calls `hear` with every event.
    func follow(_ names: Set<SessionName>, _ hear: @escaping (FleetEvent) -> Void) {
        guard let sharing else { return }
        watch?.cancel()
        let listener = tasks.bound(hear)
        watch = tasks.start {
            await sharing.follow(names) { news in await listener.run { hear, _ in hear(news) } }
        }
    }

    /// Records that the watch has ended, or could not be started.
    ///
    /// - Returns: `true` if the watch worked before.
    func recordOutage(_ storeError: FleetStoreError) -> Bool {
        defer { watchError = storeError }
        return watchError == nil
    }

    /// Records that the watch works.
    ///
    /// - Returns: `true` if it did not work before.
    func recordReconnection() -> Bool {
        defer { watchError = nil }
        return watchError != nil
    }

    func close() {
        watch?.cancel()
        watch = nil
        watchError = nil
        if case .opening(let task) = state { task.cancel() }
        if let sharing { SharedStore.close(sharing) }
        state = .closed
    }

    /// Closes the store without waiting for its connections.
    private static func close(_ sharing: any FleetSharing) {
        Task.detached { await sharing.close() }
    }
}
