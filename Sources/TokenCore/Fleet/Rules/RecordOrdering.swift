// SPDX-License-Identifier: MIT

/// How etcd's record stands to the newest one that a host has seen.
///
/// The order of records: the later login; of one login, the logout; else the higher generation.
enum RecordOrdering: Equatable, Sendable {
    /// It is that very record, or neither has one.
    case same
    /// etcd's is newer: adopt it.
    case newer
    /// As old, but not the same one, which happens after a snapshot was restored: adopt etcd's, and keep the tokens
    /// of the host's own as a late answer.
    case beside(LateResponse?)
    /// etcd's is older, or gone, which happens when a snapshot is restored: put the host's own back.
    case older

    init(of record: FleetHeader?, to own: FleetHeader?) {
        guard let own else {
            self = record == nil ? .same : .newer
            return
        }
        guard let record else {
            self = .older
            return
        }
        self = RecordOrdering.compare(record, own)
    }

    private static func compare(_ record: FleetHeader, _ own: FleetHeader) -> RecordOrdering {
        guard record != own else { return .same }
        guard record.lineage == own.lineage else {
            // Of two logins with one number, the one that came to etcd first is the login.
            return record.lineage.number >= own.lineage.number ? .newer : .older
        }
        guard (record.status == .out) == (own.status == .out) else {
            return record.status == .out ? .newer : .older
        }
        guard record.generation == own.generation else {
            return record.generation > own.generation ? .newer : .older
        }
        return .beside(own.spare(beside: record))
    }
}

extension FleetHeader {
    /// Its own tokens as a late answer, if they may be worth something beside `record`.
    fileprivate func spare(beside record: FleetHeader) -> LateResponse? {
        guard isLive, generation > 0, record.status != .out, tokenMark != record.tokenMark else { return nil }
        return LateResponse(
            lineage: lineage,
            parent: generation - 1,
            attempt: attempt,
            tokenMark: tokenMark,
            cluster: cluster
        )
    }
}
