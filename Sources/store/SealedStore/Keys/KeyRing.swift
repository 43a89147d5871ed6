// SPDX-License-Identifier: MIT

import SecretMemory

/// The master keys in use: the current one, and older ones while records under them remain.
struct KeyRing: Sendable {
    let vault: RandomID
    private(set) var current: MasterKey
    private(set) var older: [UInt32: MasterKey]

    init(vault: RandomID, current: MasterKey, older: [UInt32: MasterKey] = [:]) {
        self.vault = vault
        self.current = current
        self.older = older
    }

    /// Returns the key of `epoch`, or `nil` if it is not, or no longer, known.
    func key(epoch: UInt32) -> MasterKey? {
        epoch == current.epoch ? current : older[epoch]
    }
}
