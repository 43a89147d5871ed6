// SPDX-License-Identifier: MIT

/// The limit on the rate of unlock attempts.
///
/// A user who mistypes notices nothing. A program that tries a list of passphrases becomes slower and slower.
/// The limit applies only to attempts at the agent: with a copy of the store, the key derivation alone limits
/// the rate.
package struct UnlockThrottle: Equatable, Sendable {
    /// The delay that each failed attempt adds before the next, 100 ms.
    package static let step = Duration.milliseconds(100)
    /// The maximum delay before an attempt, 10 seconds.
    package static let maximumDelay = Duration.seconds(10)
    /// The time without an attempt after which failed attempts are forgotten, 60 seconds.
    package static let memory = Duration.seconds(60)

    private var wrongGuesses = 0
    private var lastGuess: Instant?

    package init() {}

    /// Returns the delay before the next attempt, at `now`.
    package func delay(at now: Instant) -> Duration {
        guard let lastGuess, !isForgotten(at: now) else { return .zero }
        // Further failed attempts do not change the delay.
        let delay = Self.step * min(wrongGuesses, Int(Self.maximumDelay / Self.step))
        return max(.zero, delay - (now - lastGuess))
    }

    /// Records an attempt that ended at `now`.
    ///
    /// A correct one removes the delay.
    package mutating func guessed(isRight: Bool, at now: Instant) {
        if isRight || isForgotten(at: now) { wrongGuesses = 0 }
        if !isRight { wrongGuesses += 1 }
        lastGuess = now
    }

    private func isForgotten(at now: Instant) -> Bool {
        lastGuess.map { now - $0 >= Self.memory } ?? true
    }
}
