// SPDX-License-Identifier: MIT

@testable import TokenCore

/// Encoding of the pending actions of hosts, and of the server's state of the tokens encoded before.
extension FleetKey.Encoder {
    mutating func add(_ pending: FleetAction?, _ host: FleetWorld.Host) {
        switch pending {
        case .transact(let transaction):
            add(1)
            add(until: host.leaseEnds)
            for condition in transaction.conditions { add(condition) }
            for change in transaction.changes { add(change) }
        case .keep(let memory):
            add(2)
            add(memory)
        case .grant(let attempt, _, _):
            add(3)
            add(attempt)
        case .recover(let attempt):
            add(5)
            add(attempt)
        case nil, .look, .grantLease, .hold, .postpone, .refuse, .adopt, .ask, .asked, .revoke,
            .finishNews:
            add(4)
        }
    }

    mutating func add(_ condition: FleetTransaction.Condition) {
        switch condition {
        case .record(let header): add(header)
        case .intent(let intent): add(intent)
        case .lock(let attempt): if let attempt { add(attempt) } else { add(98) }
        case .late(let late): add(late)
        case .noLate(_, let parent): add(parent)
        }
    }

    mutating func add(_ change: FleetTransaction.Change) {
        switch change {
        case .putRecord(let header): add(header)
        case .putIntent(let intent): add(intent)
        case .putLock(let attempt): add(attempt)
        case .putLate(let late), .deleteLate(let late): add(late)
        case .deleteIntent: add(91)
        case .deleteLock: add(92)
        case .deleteLates: add(93)
        }
    }

    /// Adds the server's state of the tokens that a host may still send.
    mutating func addTokens() {
        var index = 0
        while index < tokens.count {
            let token = world.server.tokens[tokens[index]]
            add(token.isUsed)
            add(token.isReplaced)
            add(token.isDoubtful)
            add(token.family)
            add(world.server.ended.contains(token.family))
            if token.isUsed { add(age: token.usedAt, upTo: grace) }
            if let successor = token.successor, world.habit.hasGrace { add(token: successor) }
            // An attempt that no encoded value names can never be declared.
            let known = token.senders.compactMap { attempts.firstIndex(of: $0) }.sorted()
            add(known.count)
            for sender in known { add(sender) }
            add(known.count < token.senders.count)
            index += 1
        }
    }
}
