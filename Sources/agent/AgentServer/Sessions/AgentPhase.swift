// SPDX-License-Identifier: MIT

import SecretMemory

/// The phase of the agent, which says what it may begin.
///
/// Confined to the agent's event loop; only ``SessionAgent`` changes it.
final class AgentPhase {
    /// A phase; refreshes start only while the agent is ``working``.
    enum State: Equatable {
        case working
        /// The store is being unlocked without the user; requests wait for it.
        case opening
        /// Work in flight finishes; then the keys are erased.
        case locking
        case locked
        /// Work in flight finishes; then the agent ends.
        case stopping
    }

    private(set) var current = State.locked
    private let memory: SealedMemory

    init(memory: SealedMemory) {
        self.memory = memory
    }

    func become(_ step: State) {
        current = step
    }

    /// Whether the store must be unlocked before tokens are served.
    var isLocked: Bool { !isServing && current != .opening }

    var isServing: Bool { current == .working || current == .stopping && !memory.isLocked }

    /// The reason no tokens are served now.
    var refusal: RequestFailure {
        current == .stopping ? .stoppingAgent : .lockedAgent
    }
}
