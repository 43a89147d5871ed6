// SPDX-License-Identifier: MIT

/// Whether a session may send its refresh token.
package enum ReservationResult: Equatable, Sendable {
    /// The intent is durable. `within`: the moments that the request must not be later than; `nil`: at any time.
    case granted(within: ExchangeDeadlines? = nil)
    /// Another host of the fleet is at it: its record follows (``Session/recordAdopted(_:isUnproven:mayLogInSilently:jitter:at:)``),
    /// or another answer.
    case held
    /// The answer to another host's request is missing, and that host is waited for; with what to say of it.
    case notBefore(Instant, String)
    /// This host is a reader, and may not ask the keepers for another token than the present one.
    case unasked(StorageFailure)
    /// The store that the hosts of the fleet share is away, or answered too late: nothing was sent.
    case unreachable(FleetStoreError)
    /// There is no place for the answer.
    case failed(StorageFailure)
}
