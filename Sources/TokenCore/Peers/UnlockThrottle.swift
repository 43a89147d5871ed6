// SPDX-License-Identifier: MIT

/// How fast a secret may be guessed.
///
/// A person who mistypes notices nothing; a program that tries a list of words gets slower and slower. This
/// limits only guesses that the agent answers: a thief with a copy of the store guesses as fast as the key
/// derivation allows.
package struct UnlockThrottle: Equatable, Sendable {
    /// What each wrong guess adds to the pause before the next.
    package static let step = Duration.milliseconds(100)
    package static let longestPause = Duration.seconds(10)
    /// Without a guess for this long, all is forgotten.
    package static let memory = Duration.seconds(60)

    private var wrongGuesses = 0
    private var lastGuess: Instant?

    package init() {}

    /// How long the next guess has to wait, at `now`.
    package func pause(at now: Instant) -> Duration {
        guard let lastGuess, !isForgotten(at: now) else { return .zero }
        // More wrong guesses than this change nothing.
        let pause = Self.step * min(wrongGuesses, Int(Self.longestPause / Self.step))
        return max(.zero, pause - (now - lastGuess))
    }

    /// A guess has ended at `now`; a right one makes the next as quick as the first.
    package mutating func guessed(isRight: Bool, at now: Instant) {
        if isRight || isForgotten(at: now) { wrongGuesses = 0 }
        if !isRight { wrongGuesses += 1 }
        lastGuess = now
    }

    private func isForgotten(at now: Instant) -> Bool {
        lastGuess.map { now - $0 >= Self.memory } ?? true
    }
}
