// SPDX-License-Identifier: MIT

/// The state of a shared session at one host that survives a stop at any moment.
///
/// The tokens of the attempts that it names are stored with it. Those of others are erased.
package struct FleetPersistentState: Hashable, Sendable {
    /// The newest record that the host has seen.
    package var record: FleetHeader?
    /// Whether ``record`` is a login, a logout or the end of a login that happened on this host, and etcd may
    /// not have it yet.
    package var isUnpublished = false
    /// The request with a refresh token that may have been sent, and whose response is not durable on this
    /// host.
    ///
    /// It may be left over from an attempt that ended without a response. Then no response is found after a
    /// start.
    package var sending: PendingSend?
    /// A token response that is durable on this host, but not settled in etcd yet.
    package var answer: StoredRefreshResult?
    /// The revision of etcd's latest response.
    package var place: FleetRevision?
    /// Whether etcd was restored from a snapshot, and no intent was written yet for the refreshes that it may
    /// have lost.
    package var isRestored = false

    package init() {}

    /// Returns the state after this host adopts a record from etcd, and the actions that report it.
    func adopting(_ record: FleetHeader) -> (FleetPersistentState, [FleetAction]) {
        var next = self
        let isSuperseded =
            isUnpublished
            && (record.lineage != self.record?.lineage || record.isLive && record != self.record)
        let result = isSuperseded ? FleetPublishResult.superseded(by: record) : .done(record)
        if record.lineage != self.record?.lineage { next.isRestored = false }
        next.record = record
        next.isUnpublished = false
        guard isUnpublished, let news = self.record else { return (next, []) }
        return (next, [.finishNews(news, result)])
    }

    /// Returns the state after a login, a logout or the end of a login on this host, and the actions that
    /// report it.
    ///
    /// The event has no effect if this host knows a later login or record.
    func taking(_ news: FleetHeader) -> (FleetPersistentState, [FleetAction]) {
        if let record, record.lineage.number > news.lineage.number {
            return (self, [.finishNews(news, .superseded(by: record))])
        }
        if case .dead = news.status, let record, !news.ends(record) {
            let result = record.isLive ? FleetPublishResult.superseded(by: record) : .done(record)
            return (self, [.adopt(record), .finishNews(news, result)])
        }
        var next = self
        // Losses of etcd belong to the previous login.
        if news.lineage != record?.lineage { next.isRestored = false }
        next.record = news
        next.isUnpublished = true
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

    /// The state after an intent was written for the refreshes that a restored etcd may have lost.
    var marked: FleetPersistentState {
        var next = self
        next.isRestored = false
        return next
    }

    /// Returns the state after the response was stored in this cluster's etcd as a late response.
    func placing(in cluster: UInt64) -> FleetPersistentState {
        var next = self
        next.answer?.placedIn = cluster
        return next
    }
}
