// SPDX-License-Identifier: MIT

/// A host's right to send the refresh token of one record, from the reservation until it is settled.
struct FleetHold: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// The reservation was sent to etcd, and the answer is missing.
        /// Next: `granted` if it stands, `untouched` if it stands too late, or none.
        case reserving
        /// The session may send, or has. Next: any of the others, or none with tokens.
        case granted
        /// Nothing came of it: the former intent is put back, and anybody may go on at once. Next: none.
        case untouched
        /// The answer is missing: the intent stays, the lock goes. Next: none.
        case unanswered
        /// The server refused: the record is declared dead. Next: none; `untouched` if the answer of another host turns
        /// up, `unanswered` if another host has taken over.
        case refused(EndReason)
    }

    let record: FleetHeader
    let intent: FleetIntent
    /// What etcd said about the same refresh token before.
    let former: FleetIntent?
    /// The request has to be sent before, or not at all.
    let deadline: Instant
    /// Where etcd stood when it was decided.
    let place: FleetPlace
    var stage = Stage.reserving

    /// What ends it in etcd as its stage demands; `nil`: it is not over.
    var ending: FleetErrand? {
        switch stage {
        case .reserving, .granted: nil
        case .untouched: .release(self)
        case .unanswered: .unlock(intent.attempt)
        case .refused(let reason): .declare(record.refused(reason), self)
        }
    }

    /// What etcd says of the right that a crash, a pause or a lost answer has put in doubt.
    enum Finding: Equatable, Sendable {
        /// It stands.
        case stands
        /// It is to be ended as ``stage`` says then.
        case toBeEnded(Stage)
        /// Nothing is left of it.
        case gone
    }

    func finding(in view: FleetView) -> Finding {
        let hasLock = view.lock == intent.attempt
        guard view.intent == intent else { return hasLock ? .toBeEnded(.unanswered) : .gone }
        switch stage {
        case .reserving: return hasLock ? .stands : .toBeEnded(.untouched)
        case .granted: return .stands
        case .untouched: return .toBeEnded(.untouched)
        case .refused where view.record == record:
            return .toBeEnded(view.hasAnswer(to: record) ? .untouched : stage)
        case .unanswered, .refused: return hasLock ? .toBeEnded(.unanswered) : .gone
        }
    }
}

/// A session wants to refresh.
struct FleetWish: Hashable, Sendable {
    let attempt: AttemptID
    /// When the access token ends; `nil`: never, or nobody knows.
    let expiry: FleetTime?
    /// It was told that another host is at it.
    var isHeld = false
}

/// Refusals of one refresh token that wait to be confirmed.
struct FleetRefusals: Hashable, Sendable {
    let tokenMark: UInt64
    private(set) var attempts: [AttemptID] = []

    init(tokenMark: UInt64) {
        self.tokenMark = tokenMark
    }

    mutating func add(_ attempt: AttemptID) { attempts.append(attempt) }

    /// A refused token whose earlier answer is missing was most likely replaced by that answer.
    func believed(_ reason: EndReason, after intent: FleetIntent) -> EndReason {
        let isMissing = intent.before.contains { !attempts.contains($0) }
        return reason == .grantDead && isMissing ? .replyLost : reason
    }
}
