// SPDX-License-Identifier: MIT

import TokenCore

/// Reservations on their way to the store, whose one thread gets a single one at a time.
///
/// What else the thread is given therefore waits for at most one of them: an answer that a server has sent is worth
/// more than the room for others that are still to be asked for.
struct ReservationQueue {
    struct Reservation {
        var session: SessionName
        var attempt: AttemptNumber
        var snapshot: SessionSnapshot
    }

    private var waiting: [Reservation] = []
    private var isBusy = false

    mutating func add(_ reservation: Reservation) {
        waiting.append(reservation)
    }

    /// The next to be made, after which there is none until ``finished()``; `nil`: there is none, or one is being made.
    mutating func next() -> Reservation? {
        guard !isBusy, !waiting.isEmpty else { return nil }
        isBusy = true
        return waiting.removeFirst()
    }

    /// The last one that ``next()`` returned has been made, or is not wanted any more.
    mutating func finished() {
        isBusy = false
    }
}
