// SPDX-License-Identifier: MIT

/// The proof that a peer may open the store, required to change the unlock methods.
package enum VaultProof: Equatable, Sendable {
    /// The user has agreed.
    case confirmed
    case passphrase([UInt8])
    /// The content of a key file, or the output of a command or a credential.
    case key([UInt8])
}
