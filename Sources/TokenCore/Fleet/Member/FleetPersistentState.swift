// SPDX-License-Identifier: MIT

/// What a host knows of one session of the fleet after it was stopped at any moment.
///
/// The tokens of the attempts that it names are kept with it; those of others are erased.
package struct FleetPersistentState: Hashable, Sendable {
    /// The newest record it has seen.
    package var record: FleetHeader?
    /// The record is a login, a logout or the end of a login, made here, which etcd may not have yet.
    package var isNews = false
    /// What may have been sent, and whose answer is not durable.
    ///
    /// It may be left over from an attempt that ended without one: then no answer is found for it after a start.
    package var sending: PendingSend?
    /// An answer that is not settled yet.
    package var answer: StoredRefreshResult?
    /// The latest place of an answer of etcd.
    package var place: FleetRevision?
    /// etcd was put back to an old snapshot, and the record has not been marked since.
    package var isRestored = false

    package init() {}

    /// With a record that etcd has, and what to tell of it.
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

    /// With what a person has done at this host meanwhile, or what has ended, unless a later login or record makes it void.
    func taking(_ news: FleetHeader) -> (FleetPersistentState, [FleetAction]) {
        if let record, record.lineage.number > news.lineage.number {
            return (self, [.finishNews(news, .superseded(by: record))])
        }
        if case .dead = news.status, let record, !news.ends(record) {
            let result = record.isLive ? FleetNewsResult.superseded(by: record) : .done(record)
            return (self, [.adopt(record), .finishNews(news, result)])
        }
        var next = self
        // What etcd may have lost belongs to the login before.
        if news.lineage != record?.lineage { next.isRestored = false }
        next.record = news
        next.isNews = true
        // Whatever was sent belongs to the login before.
        next.sending = nil
        return (next, [])
    }

    /// With another record of the same session.
    func with(_ record: FleetHeader) -> FleetPersistentState {
        var next = self
        next.record = record
        return next
    }

    /// With the knowledge that etcd was put back.
    var restored: FleetPersistentState {
        var next = self
        next.isRestored = true
        return next
    }

    /// With the record marked since etcd was put back.
    var marked: FleetPersistentState {
        var next = self
        next.isRestored = false
        return next
    }

    /// With the answer laid beside the record in this cluster.
    func placing(in cluster: UInt64) -> FleetPersistentState {
        var next = self
        next.answer?.placedIn = cluster
        return next
    }
}
