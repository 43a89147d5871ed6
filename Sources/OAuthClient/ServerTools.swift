// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import TokenCore

/// Waits; throws when the task is cancelled meanwhile.
package typealias Sleeping = @Sendable (Duration) async throws -> Void

/// What every kind of server works with.
struct ServerTools: Sendable {
    var vault: Vault
    var timekeeper: any Timekeeper
    var commands: any CommandRunning
    var exchange: any HTTPExchanging
    var eventLoop: any EventLoop
    var sleep: Sleeping
    /// Shared by all servers made with these tools.
    var proofNonces = ProofNonces()
}
