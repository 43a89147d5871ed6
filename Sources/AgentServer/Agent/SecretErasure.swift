// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Overwrites secrets in memory, once nothing works with them any more.
///
/// Confined to the event loop.
final class SecretErasure {
    private let memory: SealedMemory
    private let storeThread: StoreThread
    private var lent = SecretReferenceCounts()

    init(memory: SealedMemory, storeThread: StoreThread) {
        self.memory = memory
        self.storeThread = storeThread
    }

    /// Notes that a request begins to work with `secrets`; ``giveBack(_:)`` follows.
    func lend(_ secrets: Set<SecretID>) {
        lent.lend(secrets)
    }

    /// Notes that the request has ended; erases what was to be erased meanwhile.
    func giveBack(_ secrets: Set<SecretID>) {
        for secret in lent.giveBack(secrets) { erase(secret) }
    }

    /// Erases `secret` once the store has done its jobs and no request works with it any more.
    func erase(_ secret: SecretID) {
        guard lent.mayErase(secret) else { return }
        guard storeThread.jobs > 0 else { return memory.erase(secret) }
        let memory = memory
        storeThread.run { _ in memory.erase(secret) }
    }

    func erase(_ secrets: some Sequence<SecretID>) {
        for secret in secrets { erase(secret) }
    }
}
