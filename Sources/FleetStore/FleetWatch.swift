// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import TokenCore

/// What the watch and one read have shown of the fleet's sessions, kept up to date change by change.
///
/// So a host that only takes over what another has refreshed asks etcd for nothing.
struct FleetWatch {
    private let sessions: [FleetName: SessionName]
    private let records: FleetRecords
    /// By the bytes of their keys.
    private var values: [FleetName: [[UInt8]: [UInt8]]] = [:]
    /// Up to where the values are whole; `nil`: nothing was read since the watch began.
    private var place: FleetRevision?
    /// Up to where etcd has said that nothing was written beside what the values show.
    ///
    /// Not a part of ``place``: the watch may still have to tell of what was deleted before that.
    private var confirmed: FleetRevision?
    /// What is read next may be of an earlier etcd.
    private var hasLostHistory = false

    init(_ sessions: Set<SessionName>, _ records: FleetRecords) {
        self.records = records
        self.sessions = Dictionary(uniqueKeysWithValues: sessions.map { (records.names.name(of: $0), $0) })
    }

    /// etcd does not know any more what the watch has seen.
    mutating func historyCompacted() {
        hasLostHistory = true
    }

    /// Everything is read anew.
    mutating func forget() {
        values = [:]
        place = nil
        confirmed = nil
    }

    /// Whether the values are whole.
    var isRead: Bool { place != nil }

    /// The revision after which something was perhaps written until `header` that the values do not show; `nil`: none.
    func gap(before header: EtcdHeader) -> Int64? {
        guard let place else { return nil }
        let asked = confirmed.flatMap { $0.cluster == place.cluster ? $0.revision : nil } ?? 0
        let known = max(place.revision, asked)
        return header.revision > known ? known : nil
    }

    /// Nothing was written after ``place`` until `header`.
    mutating func confirm(until header: EtcdHeader) {
        confirmed = FleetRevision(header)
    }

    /// A page was read; the first tells up to where all of them are whole.
    mutating func read(_ page: EtcdResponse<EtcdRange>) {
        for pair in page.content.pairs {
            guard let name = name(of: pair.key) else { continue }
            values[name, default: [:]][pair.key] = pair.value
        }
        place = place ?? FleetRevision(page.header)
    }

    /// What was read of every session.
    mutating func all(at time: FleetTime?) -> [FleetEvent] {
        defer { hasLostHistory = false }
        // What is shown beside a place that is known to come later would be taken for old.
        guard !hasLostHistory, let place, let time else { return sessions.values.map { .changed($0) } }
        return sessions.keys.map { news(of: $0, at: place, time) }
    }

    /// The watch has brought changes.
    mutating func apply(_ changes: [EtcdChange], _ header: EtcdHeader, at time: FleetTime?) -> [FleetEvent] {
        var changed: Set<FleetName> = []
        var revision = place?.revision ?? 0
        for change in changes {
            let pair = change.pair
            revision = max(revision, pair.modRevision)
            // What was read already.
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

    private func name(of key: [UInt8]) -> FleetName? {
        guard let name = records.names.key(named: key)?.name, sessions[name] != nil else { return nil }
        return name
    }

    /// What does not open is looked at, so that somebody hears of it.
    private func news(of name: FleetName, at place: FleetRevision, _ time: FleetTime) -> FleetEvent {
        guard let session = sessions[name] else { return .connected }
        let pairs = (values[name] ?? [:]).map { (key: $0.key, value: $0.value) }
        let reading = FleetSightReading(records: records, session: session, epoch: 0)
        guard let sight = try? reading.sight(of: pairs, at: place, time) else { return .changed(session) }
        return .shown(sight)
    }
}
