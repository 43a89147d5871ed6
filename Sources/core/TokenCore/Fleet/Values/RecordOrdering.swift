// SPDX-License-Identifier: MIT

/// The order of etcd's record relative to the newest one that a host has seen.
///
/// A later login is newer. Within one login a logout is newer, otherwise the higher generation.
enum RecordOrdering: Equatable, Sendable {
    /// The records are the same, or there are none.
    case same
    /// etcd's record is newer: adopt it.
    case newer
    /// The records are of the same age but differ, which happens after a snapshot was restored.
    ///
    /// Adopt etcd's record, and keep the tokens of the host's own as a late response.
    case beside(LateResponse?)
    /// etcd's record is older or gone, which happens when a snapshot is restored: write the host's own
    /// record.
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
            // Of two logins with one number, the first one in etcd is the login.
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
    /// Returns this record's tokens as a late response, or `nil` if they are useless next to `record`.
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
