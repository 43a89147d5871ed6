// SPDX-License-Identifier: MIT

/// The sessions' files, as the port between the session's decisions and the disk.
///
/// Every call may block on `fsync` and must not be made on an event loop. Calls for one session are made one
/// after the other, in the order of the effects that requested them.
package protocol SessionStoring: Sendable {
    /// Makes the intent to send this session's refresh token durable and reserves space for the response.
    ///
    /// - Throws: ``StorageFailure`` if that fails. The refresh token must not be sent then.
    func reserve(_ session: SessionName, _ snapshot: SessionSnapshot) throws(StorageFailure)

    /// Makes `snapshot` durable in the reserved slot if there is one, else in a new file.
    func commit(_ session: SessionName, _ snapshot: SessionSnapshot) -> CommitDurability

    /// Removes the reservation and recording of an attempt that ended without new tokens, or keeps both for the next
    /// attempt.
    ///
    /// - Parameters:
    ///   - session: the session of the attempt.
    ///   - answered: whether the server's response proves that the refresh token was not replaced, so that a
    ///     restart need not replay it.
    func release(_ session: SessionName, answered: Bool)

    /// Makes the logout durable, then removes the session's files.
    func forget(_ session: SessionName) throws(StorageFailure)
}

/// The durability of a committed record.
package enum CommitDurability: Equatable, Sendable {
    /// The record is on the disk and flushed.
    case durable
    /// The record is only in the runtime directory. It survives a crash of the agent, not a reboot.
    case lifeboat(StorageFailure)
    /// The record is only in this process.
    case memoryOnly(StorageFailure)
}
