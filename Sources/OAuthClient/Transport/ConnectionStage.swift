// SPDX-License-Identifier: MIT

import Synchronization

/// How far one try at an exchange has come; decides once whether the request may be out.
final class ConnectionStage: Sendable {
    /// Nothing was sent, or of a POST only its head.
    ///
    /// Next: `connected` or `givenUp`.
    private static let connecting: UInt8 = 0
    /// The request may be out: only its answer or its loss ends it.
    private static let connected: UInt8 = 1
    /// The try has ended there; another one begins.
    private static let givenUp: UInt8 = 2

    private let startedAt = ContinuousClock.now
    private let stage = Atomic(ConnectionStage.connecting)

    /// Goes from `connecting` to `connected`; `false` if it has been somewhere else already.
    func proceed() -> Bool { move(to: ConnectionStage.connected) }

    /// Goes from `connecting` to `givenUp`; `false` if the request may have been sent.
    func giveUp() -> Bool { move(to: ConnectionStage.givenUp) }

    var isConnected: Bool { stage.load(ordering: .acquiring) == ConnectionStage.connected }
    var isGivenUp: Bool { stage.load(ordering: .acquiring) == ConnectionStage.givenUp }

    /// Whether it has been `connecting` for at least `age`.
    func hangs(since age: Duration) -> Bool {
        stage.load(ordering: .acquiring) == ConnectionStage.connecting
            && ContinuousClock.now - startedAt >= age
    }

    private func move(to next: UInt8) -> Bool {
        stage.compareExchange(
            expected: ConnectionStage.connecting,
            desired: next,
            ordering: .acquiringAndReleasing
        ).exchanged
    }
}
