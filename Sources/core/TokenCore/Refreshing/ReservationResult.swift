// SPDX-License-Identifier: MIT

/// The permission of a session to send its refresh token.
package enum ReservationResult: Equatable, Sendable {
    /// The intent is durable.
    case granted
    /// The attempt waits for the fleet: another host refreshes, a keeper is asked, or etcd is not open yet.
    ///
    /// Its record follows (``Session/recordAdopted(_:isUnproven:mayLogInNoninteractively:jitter:at:)``),
    /// or another result.
    case held
    /// The response to another host's request is missing, and this host waits until the instant. The text
    /// explains it.
    case notBefore(Instant, String)
    /// This host is a reader and could not ask the keepers for a token other than the current one.
    case unasked(StorageFailure)
    /// The fleet's store is unreachable, or responded too late. Nothing was sent.
    case unreachable(FleetStoreError)
    /// There is no space for the response.
    case failed(StorageFailure)
}
