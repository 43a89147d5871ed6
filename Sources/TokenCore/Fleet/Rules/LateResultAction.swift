// SPDX-License-Identifier: MIT

/// What is to be done with a late answer in etcd.
enum LateResultAction: Equatable, Sendable {
    /// It takes the place of the record: nothing else came of that refresh token, or what came is dead.
    case adopt
    /// It may be needed yet.
    case keep
    /// It can never be of use.
    case erase

    init(of late: LateResponse, beside record: FleetHeader) {
        guard late.lineage == record.lineage else {
            // Of a later login: the record is about to be put back.
            self = late.lineage.number > record.lineage.number ? .keep : .erase
            return
        }
        guard !record.isOver, late.tokenMark != record.tokenMark, late.parent >= record.proven else {
            self = .erase
            return
        }
        let isDue = record.isLive ? late.parent == record.generation : true
        self = isDue ? .adopt : .keep
    }
}

extension FleetSnapshot {
    /// The late answer to take next; `nil`: none is to be adopted now.
    func nextAdoption(_ timing: FleetTiming) -> LateResponse? {
        guard let record else { return nil }
        return lates.filter { late in
            LateResultAction(of: late, beside: record) == .adopt && !isDoubtful(late, timing)
        }.min()
    }

    /// A late answer to the refresh token of `record` is there: nobody sends that token again.
    func hasAnswer(to record: FleetHeader) -> Bool {
        lates.contains {
            $0.parent == record.generation && LateResultAction(of: $0, beside: record) == .adopt
        }
    }

    /// It may be needed, now or later.
    func isOfUse(_ late: LateResponse) -> Bool {
        record.map { LateResultAction(of: late, beside: $0) != .erase } ?? true
    }

    /// The late answers that can go.
    var useless: [LateResponse] {
        lates.filter { !isOfUse($0) }.sorted()
    }

    /// Another host has sent the same refresh token after it and may hold the younger answer.
    ///
    /// Some servers with a grace count the last answer alone, and end the login when they see the other. So that host is
    /// waited for, unless the server is known to have refused it.
    private func isDoubtful(_ late: LateResponse, _ timing: FleetTiming) -> Bool {
        guard case .acceptedFor = timing.reuse, let intent = presentIntent else { return false }
        guard intent.before.contains(late.attempt), time < intent.at + timing.patience else { return false }
        return !intent.isRefused || intent.before.last != late.attempt
    }
}
