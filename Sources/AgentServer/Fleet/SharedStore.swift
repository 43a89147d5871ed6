// SPDX-License-Identifier: MIT

import TokenCore

/// The store that the hosts of a fleet share, from its opening to its end, and the watch over it.
///
/// Confined to the agent's event loop.
final class SharedStore {
    private enum State {
        /// Next: `opening` with the first session that is shared.
        case closed
        /// Next: `open`, or `failed`.
        case opening(Task<Void, Never>)
        /// Tried again after a pause. Next: `opening`.
        case failed(FleetStoreError)
        /// Next: `closed` when the agent locks or stops.
        case open(any FleetSharing)
    }

    private var state = State.closed
    /// How often it was begun to be opened: what comes of an earlier time, which was given up, is of no use.
    private var openings = 0
    private var watch: Task<Void, Never>?
    /// Why there is no watch; `nil`: there is one, or none was tried.
    private var watchTrouble: FleetStoreError?

    /// `nil` while it is not open.
    var sharing: (any FleetSharing)? {
        if case .open(let sharing) = state { sharing } else { nil }
    }

    /// Why it could not be opened; `nil`: it could, or has not been tried.
    var failure: FleetStoreError? {
        if case .failed(let trouble) = state { trouble } else { nil }
    }

    /// Why it is of no use now.
    var trouble: FleetStoreError? { failure ?? watchTrouble }

    var isOpening: Bool {
        if case .opening = state { true } else { false }
    }

    /// Begins to open it, unless it is being opened; ``FleetCoordinator/opened(_:in:)`` follows.
    func open(_ port: FleetPort, in agent: isolated SessionAgent) {
        guard !isOpening else { return }
        openings += 1
        let number = openings
        state = .opening(
            Task {
                let opened: Result<any FleetSharing, FleetStoreError>
                do throws(FleetStoreError) {
                    opened = .success(try await port.open())
                } catch {
                    opened = .failure(error)
                }
                guard take(opened, of: number) else { return }
                agent.fleet.opened(opened, in: agent)
            }
        )
    }

    /// - Returns: whether somebody still waits for it.
    private func take(_ opened: Result<any FleetSharing, FleetStoreError>, of number: Int) -> Bool {
        guard isOpening, number == openings else {
            if case .success(let sharing) = opened { SharedStore.close(sharing) }
            return false
        }
        switch opened {
        case .success(let sharing): state = .open(sharing)
        case .failure(let trouble): state = .failed(trouble)
        }
        return true
    }

    /// Waits until it is open, or cannot be opened now.
    func untilOpened(isolation: isolated (any Actor)? = #isolation) async {
        if case .opening(let task) = state { await task.value }
    }

    /// Watches what becomes of these sessions, and of no others any more.
    func follow(_ names: Set<SessionName>, in agent: isolated SessionAgent) {
        guard let sharing else { return }
        watch?.cancel()
        watch = Task { [weak agent] in
            await sharing.follow(names) { [weak agent] news in await agent?.hear(news) }
        }
    }

    /// The watch has come to an end, or there is still none.
    /// - Returns: whether there was one.
    func noteAway(_ trouble: FleetStoreError) -> Bool {
        defer { watchTrouble = trouble }
        return watchTrouble == nil
    }

    /// There is a watch.
    /// - Returns: whether there was none.
    func noteBack() -> Bool {
        defer { watchTrouble = nil }
        return watchTrouble != nil
    }

    func close() {
        watch?.cancel()
        watch = nil
        watchTrouble = nil
        if case .opening(let task) = state { task.cancel() }
        if let sharing { SharedStore.close(sharing) }
        state = .closed
    }

    /// Nobody waits for connections to be closed.
    private static func close(_ sharing: any FleetSharing) {
        Task.detached { await sharing.close() }
    }
}

extension SessionAgent {
    fileprivate func hear(_ news: FleetEvent) {
        fleet.hear(news, in: self)
    }
}
