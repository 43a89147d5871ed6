// SPDX-License-Identifier: MIT

import Synchronization

/// The state of one attempt at an exchange, which decides once whether the request may have been sent.
///
/// Safe to call from any thread.
final class ExchangeAttempt: Sendable {
    /// Nothing was sent, or only the head of a POST.
    ///
    /// Next: `connected` or `givenUp`.
    private static let connecting: UInt8 = 0
    /// The request may have been sent.
    ///
    /// Only its response or its loss ends the attempt.
    private static let connected: UInt8 = 1
    /// The attempt ended before the request was sent, and another one begins.
    private static let givenUp: UInt8 = 2

    private let startedAt = ContinuousClock.now
    private let stage = Atomic(ExchangeAttempt.connecting)

    /// Moves from `connecting` to `connected`, or returns `false` if the state was already another one.
    func proceed() -> Bool { move(to: ExchangeAttempt.connected) }

    /// Moves from `connecting` to `givenUp`, or returns `false` if the request may have been sent.
    func giveUp() -> Bool { move(to: ExchangeAttempt.givenUp) }

    var isConnected: Bool { stage.load(ordering: .acquiring) == ExchangeAttempt.connected }
    var isGivenUp: Bool { stage.load(ordering: .acquiring) == ExchangeAttempt.givenUp }

    /// Returns whether the attempt has been `connecting` for at least `age`.
    func isStalled(since age: Duration) -> Bool {
        stage.load(ordering: .acquiring) == ExchangeAttempt.connecting
            && ContinuousClock.now - startedAt >= age
    }

    private func move(to next: UInt8) -> Bool {
        stage.compareExchange(
            expected: ExchangeAttempt.connecting,
            desired: next,
            ordering: .acquiringAndReleasing
        ).exchanged
    }
}
