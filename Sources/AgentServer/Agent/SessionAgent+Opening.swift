// SPDX-License-Identifier: MIT

import Logging
import NIOCore

/// A request that waits for the store to be open.
struct Arrival {
    var request: HTTPRequest
    var connection: Connection
}

/// Opening the store at the start, while the agent already answers that it is there.
///
/// Reading a thousand records takes longer than everything before it, and a command that opens the store may wait
/// for a person's finger: whoever starts the agent need not wait for either.
extension SessionAgent {
    /// How long a start waits for a command that opens the store.
    static let openingPatience = TimeAmount.seconds(5)

    /// Opens the store without a person and serves what came meanwhile.
    func open() async {
        if let refusal = await openStore(nil) {
            tellLocked(refusal)
            if phase == .opening { phase = .locked }
        } else if phase == .opening {
            await load()
            if phase == .opening {
                phase = .working
                startDue()
            }
        }
        finishOpening()
    }

    /// Opens the store, elsewhere; answers why it stays closed.
    func openStore(_ passphrase: [UInt8]?) async -> StoreRefusal? {
        let store = ports.store
        do throws(StoreRefusal) {
            if passphrase == nil {
                try await guesses.runUnguessed { () throws(StoreRefusal) in try store.unlock(passphrase: nil)
                }
            } else {
                try await guesses.run { () throws(StoreRefusal) in try store.unlock(passphrase: passphrase) }
            }
            return nil
        } catch {
            return error
        }
    }

    func tellLocked(_ reason: StoreRefusal) {
        ports.logger.notice("locked; unlock with: tokenctl unlock", metadata: ["reason": "\(reason)"])
    }

    /// Waits until it is known whether the store opens without a person; answers whether it did.
    func untilOpened() async -> Bool {
        if phase == .opening { await withCheckedContinuation { openingWaiters.append($0) } }
        return isServing
    }

    /// Waits until it is known whether the store opens without a person, at most `limit`.
    func untilOpened(within limit: TimeAmount) async {
        let timeout = eventLoop.scheduleTask(in: limit) { [weak self] in
            self?.assumeIsolated { $0.endWaiting() }
        }
        _ = await untilOpened()
        timeout.cancel()
    }

    private func endWaiting() {
        let waiters = openingWaiters
        openingWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Whether `route` can be answered without the sessions.
    func worksOpening(_ route: Route, _ connection: Connection) -> Bool {
        switch route.traits.whileOpening {
        case .waits: false
        case .isAnswered: true
        case .isAnsweredWhereNothingIsHidden: !rules.exist && connection.restrictedPath == nil
        }
    }

    private func finishOpening() {
        endWaiting()
        for arrival in takeArrivals() { handle(arrival.request, on: arrival.connection) }
    }

    /// Tells those who wait that the agent stops instead.
    func refuseArrivals() {
        for arrival in takeArrivals() { arrival.connection.answer(Answer(stopping)) }
    }

    private func takeArrivals() -> [Arrival] {
        defer { arrivals = [] }
        return arrivals
    }
}
