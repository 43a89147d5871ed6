// SPDX-License-Identifier: MIT

/// Why sealed memory could not do what was asked.
package enum SealedMemoryError: Error, Equatable, Sendable {
    /// The agent is locked: there is no key to open or seal with.
    case locked
    /// The identifier names nothing (any more).
    case noSuchSecret
    /// The blob does not open under its key: memory was damaged.
    case damaged
    /// The system refused guarded memory.
    case outOfMemory
}
