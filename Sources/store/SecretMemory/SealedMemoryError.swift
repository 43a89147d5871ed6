// SPDX-License-Identifier: MIT

/// The reason an operation of sealed memory failed.
package enum SealedMemoryError: Error, Equatable, Sendable {
    /// The agent is locked, so there is no key for opening or sealing.
    case locked
    /// There is no, or no longer, a secret with this identifier.
    case noSuchSecret
    /// The secret does not open under its key: memory was damaged.
    case damaged
    /// The system denied guarded memory.
    case outOfMemory
}
