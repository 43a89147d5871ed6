// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import TokenCore

/// The state of the fleet's sessions from one read and the watch, updated with each change.
///
/// A host that only takes over the refreshes of others therefore makes no reads.
struct WatchedFleetState {
    private let sessions: [FleetSessionName: SessionName]
    private let records: FleetRecords
    /// The values by the bytes of their keys.
    private var values: [FleetSessionName: [[UInt8]: [UInt8]]] = [:]
    /// The revision up to which the values are complete, or `nil` if nothing was read since the watch began.
    private var place: FleetRevision?
    /// The revision up to which etcd has confirmed that the values lack no write.
    ///
    /// It is separate from ``place``, because the watch may still report earlier deletions.
    private var confirmed: FleetRevision?
    /// Whether the next read may be of an earlier state of etcd.
    private var hasLostHistory = false

    init(_ sessions: Set<SessionName>, _ records: FleetRecords) {
        self.records = records
        self.sessions = Dictionary(uniqueKeysWithValues: sessions.map { (records.names.name(of: $0), $0) })
    }

    /// Records that etcd can no longer report the changes since the watch's position.
    mutating func historyCompacted() {
        hasLostHistory = true
    }

    /// Discards all values, so that everything is read again.
    mutating func forget() {
        values = [:]
        place = nil
        confirmed = nil
    }

    /// Whether the values are complete.
    var isRead: Bool { place != nil }

    /// Returns the revision after which writes until `header` may be missing in the values, or `nil` if none
    /// are.
    func gap(before header: EtcdHeader) -> Int64? {
        guard let place else { return nil }
        let asked = confirmed.flatMap { $0.cluster == place.cluster ? $0.revision : nil } ?? 0
        let known = max(place.revision, asked)
        return header.revision > known ? known : nil
    }

    /// Records that nothing was written after ``place`` until `header`.
    mutating func confirm(until header: EtcdHeader) {
        confirmed = FleetRevision(header)
    }

    /// Adds a page of a read.
    ///
    /// The first page determines the revision up to which all pages are complete.
    mutating func read(_ page: EtcdResponse<EtcdRangeResult>) {
        for pair in page.content.pairs {
            guard let name = name(of: pair.key) else { continue }
            values[name, default: [:]][pair.key] = pair.value
        }
        place = place ?? FleetRevision(page.header)
    }

    /// Returns the events for all sessions after a read.
    mutating func all(at time: FleetTime?) -> [FleetEvent] {
        defer { hasLostHistory = false }
        // After a loss of history the revision may be lower than a known one. The values would then be
        // treated as outdated.
        guard !hasLostHistory, let place, let time else { return sessions.values.map { .changed($0) } }
        return sessions.keys.map { news(of: $0, at: place, time) }
    }

    /// Applies the changes of a watch event and returns the events for the sessions.
    mutating func apply(_ changes: [EtcdChange], _ header: EtcdHeader, at time: FleetTime?) -> [FleetEvent] {
        var changed: Set<FleetSessionName> = []
        var revision = place?.revision ?? 0
        for change in changes {
            let pair = change.pair
            revision = max(revision, pair.modRevision)
            // The read already included this change.
            if let place, place.cluster == header.cluster, pair.modRevision <= place.revision { continue }
            guard let name = name(of: pair.key) else { continue }
            values[name, default: [:]][pair.key] = change.isDeletion ? nil : pair.value
            changed.insert(name)
        }
        guard place?.cluster == header.cluster, let time else {
            return changed.compactMap { sessions[$0] }.map { .changed($0) }
        }
        let place = FleetRevision(cluster: header.cluster, revision: revision)
        self.place = place
        return changed.map { news(of: $0, at: place, time) }
    }

    private func name(of key: [UInt8]) -> FleetSessionName? {
        guard let name = records.names.key(named: key)?.name, sessions[name] != nil else { return nil }
        return name
    }

    /// Returns the event for a session.
    ///
    /// A session that does not open is read again, so that the error is reported.
    private func news(of name: FleetSessionName, at place: FleetRevision, _ time: FleetTime) -> FleetEvent {
        guard let session = sessions[name] else { return .connected }
        let pairs = (values[name] ?? [:]).map { (key: $0.key, value: $0.value) }
        let reading = FleetReadResultParsing(records: records, session: session, epoch: 0)
        guard let readResult = try? reading.readResult(of: pairs, at: place, time) else {
            return .changed(session)
        }
        return .shown(readResult)
    }
}
