// SPDX-License-Identifier: MIT

/// The state of a shared session at one host that survives a stop at any moment.
///
/// The tokens of the attempts that it names are stored with it. Those of others are erased.
package struct FleetPersistentState: Hashable, Sendable {
    /// The newest record that the host has seen.
    package var record: FleetHeader?
    /// Whether the record is a login, a logout or the end of a login, made here, which etcd may not have yet.
    package var isNews = false
    /// The refresh token that may have been sent and whose response is not durable.
    ///
    /// It may be left over from an attempt that ended without a response. Then no response is found after a
    /// start.
    package var sending: PendingSend?
    /// A response that is not settled yet.
    package var answer: StoredRefreshResult?
    /// The revision of etcd's latest response.
    package var place: FleetRevision?
    /// Whether etcd was restored from an old snapshot, and the record has not been marked since.
    package var isRestored = false

    package init() {}

    /// Returns the state with a record that etcd has, and the actions that report it.
    func adopting(_ record: FleetHeader) -> (FleetPersistentState, [FleetAction]) {
        var next = self
        let isSuperseded =
            isNews && (record.lineage != self.record?.lineage || record.isLive && record != self.record)
        let result = isSuperseded ? FleetNewsResult.superseded(by: record) : .done(record)
        if record.lineage != self.record?.lineage { next.isRestored = false }
        next.record = record
        next.isNews = false
        guard isNews, let news = self.record else { return (next, []) }
        return (next, [.finishNews(news, result)])
    }

    /// Returns the state with a login, a logout or the end of a login at this host, and the actions that
    /// report it.
    ///
    /// A later login or record makes it void.
    func taking(_ news: FleetHeader) -> (FleetPersistentState, [FleetAction]) {
        if let record, record.lineage.number > news.lineage.number {
            return (self, [.finishNews(news, .superseded(by: record))])
        }
        if case .dead = news.status, let record, !news.ends(record) {
            let result = record.isLive ? FleetNewsResult.superseded(by: record) : .done(record)
            return (self, [.adopt(record), .finishNews(news, result)])
        }
        var next = self
        // Losses of etcd belong to the previous login.
        if news.lineage != record?.lineage { next.isRestored = false }
        next.record = news
        next.isNews = true
        // Any sent request belongs to the previous login.
        next.sending = nil
        return (next, [])
    }

    /// Returns the state with another record of the same session.
    func with(_ record: FleetHeader) -> FleetPersistentState {
        var next = self
        next.record = record
        return next
    }

    /// The state after etcd was restored from a snapshot.
    var restored: FleetPersistentState {
        var next = self
        next.isRestored = true
        return next
    }

    /// The state after the record was marked since etcd was restored.
    var marked: FleetPersistentState {
        var next = self
        next.isRestored = false
        return next
    }

    /// Returns the state with the response stored next to the record in this cluster.
    func placing(in cluster: UInt64) -> FleetPersistentState {
        var next = self
        next.answer?.placedIn = cluster
        return next
    }
}
