// SPDX-License-Identifier: MIT

import CHardening

/// Looks, before each read from a connection, who wrote what comes next.
///
/// The bytes are there then, and one read that follows returns bytes of the writer that was seen and of nobody else.
struct SenderVerifier {
    private let descriptor: CInt
    private let witness: PeerVerifier

    /// Has the kernel tell who writes to `descriptor`.
    init(descriptor: CInt, witness: PeerVerifier) {
        self.descriptor = descriptor
        self.witness = witness
        _ = hardening_tell_senders(descriptor)
    }

    /// Looks who wrote what is read next.
    func look() {
        var sender: pid_t = 0
        let isThere = unsafe hardening_next_sender(descriptor, &sender) == 1
        witness.noteSender(isThere ? sender : nil)
    }

    /// Notes that it has been read.
    func noteRead() { witness.noteRead() }
}
