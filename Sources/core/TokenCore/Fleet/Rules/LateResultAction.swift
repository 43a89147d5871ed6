// SPDX-License-Identifier: MIT

/// The action for a late response in etcd.
enum LateResultAction: Equatable, Sendable {
    /// The late response replaces the record: the refresh token sent for it has no other successor, or only a
    /// dead record.
    case adopt
    /// The late response may still be needed.
    case keep
    /// The late response can never be of use.
    case erase

    init(of late: LateResponse, beside record: FleetHeader) {
        guard late.lineage == record.lineage else {
            // It is of a later login, whose record is about to be restored.
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
    /// Returns the late response to adopt next, or `nil` if none is to be adopted now.
    func nextAdoption(_ timing: FleetTiming) -> LateResponse? {
        guard let record else { return nil }
        return lateResults.filter { late in
            LateResultAction(of: late, beside: record) == .adopt && !isDoubtful(late, timing)
        }.min()
    }

    /// Returns whether a late response to the refresh token of `record` is stored in etcd and will replace
    /// the record.
    ///
    /// No host sends that token again then.
    func hasAnswer(to record: FleetHeader) -> Bool {
        lateResults.contains {
            $0.parent == record.generation && LateResultAction(of: $0, beside: record) == .adopt
        }
    }

    /// Returns whether the late response may be needed, now or later.
    func isOfUse(_ late: LateResponse) -> Bool {
        record.map { LateResultAction(of: late, beside: $0) != .erase } ?? true
    }

    /// The late responses that can be removed.
    var useless: [LateResponse] {
        lateResults.filter { !isOfUse($0) }.sorted()
    }

    /// Returns whether another host has sent the same refresh token after this late response, and so may have
    /// a newer response.
    ///
    /// Some servers with a grace accept only the last response, and end the login when they see another. So
    /// that host is waited for, unless the server is known to have rejected it.
    private func isDoubtful(_ late: LateResponse, _ timing: FleetTiming) -> Bool {
        guard case .acceptedFor = timing.reuse, let intent = presentIntent else { return false }
        guard intent.before.contains(late.attempt), time < intent.at + timing.takeoverTimeout else {
            return false
        }
        return !intent.isRefused || intent.before.last != late.attempt
    }
}
