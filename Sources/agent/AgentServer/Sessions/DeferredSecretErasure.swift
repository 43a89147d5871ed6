// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// Overwrites secrets in memory once no job or request uses them.
///
/// Confined to the agent's event loop.
final class DeferredSecretErasure {
    private let memory: SealedMemory
    private let storeThread: StoreThread
    private var lent = SecretsInFlight()

    init(memory: SealedMemory, storeThread: StoreThread) {
        self.memory = memory
        self.storeThread = storeThread
    }

    /// Records that a request uses `secrets`; each call requires one of ``release(_:)``.
    func retain(_ secrets: Set<SecretID>) {
        lent.retain(secrets)
    }

    /// Records that the request has ended, and erases the secrets that waited for it.
    func release(_ secrets: Set<SecretID>) {
        for secret in lent.release(secrets) { erase(secret) }
    }

    /// Erases `secret` after the store's current jobs and the last request that uses it.
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
