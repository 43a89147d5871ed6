// SPDX-License-Identifier: MIT

/// The sessions' files; the port between deciding and the disk.
///
/// Every call may block on `fsync` and must not be made on an event loop. Calls for one session are made one
/// after the other, in the order of the effects that asked for them.
package protocol SessionStoring: Sendable {
    /// Makes the intent to send this session's refresh token durable and reserves room for the answer.
    /// - Throws: ``StorageFailure`` when that cannot be done; the refresh token must then not be sent.
    func reserve(
        _ session: SessionName,
        _ attempt: AttemptNumber,
        _ snapshot: SessionSnapshot
    ) throws(StorageFailure)

    /// Makes `snapshot` durable: into the reserved slot if there is one, else a new file.
    func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitOutcome

    /// Gives up the reservation of an attempt that ended without new tokens.
    ///
    /// - Parameters:
    ///   - session: whose attempt it was.
    ///   - answered: the server's answer proves that the refresh token was not replaced, so a restart need
    ///     not replay it.
    func release(_ session: SessionName, answered: Bool)

    /// Makes the logout durable, then removes the session's files.
    func forget(_ session: SessionName) throws(StorageFailure)
}

/// How safe a committed record is.
package enum CommitOutcome: Equatable, Sendable {
    /// On the disk, flushed.
    case durable
    /// Only in the runtime directory: survives a crash of the agent, not a reboot.
    case lifeboat(StorageFailure)
    /// Only in this process.
    case memoryOnly(StorageFailure)
}

/// The disk's refusal.
package struct StorageFailure: Error, Equatable, Sendable {
    /// What was tried and why it failed, for a person: "cannot reserve 32 KiB in …: No space left on device".
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
