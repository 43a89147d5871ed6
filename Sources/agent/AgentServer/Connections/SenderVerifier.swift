// SPDX-License-Identifier: MIT

import CHardening

/// The check of the writer before each read from a connection.
///
/// The bytes are already there at the check, and a single read returns bytes of one writer only.
struct SenderVerifier {
    private let descriptor: CInt
    private let witness: PeerIdentityVerifier

    /// Makes the kernel report the writer of bytes sent to `descriptor`.
    init(descriptor: CInt, witness: PeerIdentityVerifier) {
        self.descriptor = descriptor
        self.witness = witness
        _ = hardening_tell_senders(descriptor)
    }

    /// Finds the writer of the bytes that are read next.
    func look() {
        var sender: pid_t = 0
        let isThere = unsafe hardening_next_sender(descriptor, &sender) == 1
        witness.recordSender(isThere ? sender : nil)
    }

    /// Records that the bytes were read.
    func recordRead() { witness.recordRead() }
}
