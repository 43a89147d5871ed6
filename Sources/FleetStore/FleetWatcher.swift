// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import Synchronization
import TokenCore

/// Hands on what becomes of the fleet's sessions: what etcd's watch tells, and what reads show where it tells nothing.
final class FleetWatcher: Sendable {
    /// Keys in one answer: their values stay below what an answer may have.
    private static let pageLength: Int64 = 100

    private let store: FleetStore
    private let sessions: Set<SessionName>
    private let keys: EtcdKeys
    private let take: @Sendable (FleetEvent) async -> Void
    private let watch: Mutex<FleetWatch>
    /// When everything was last read although no watch stood; `nil`: never, or one has stood since.
    private let readWithout = Mutex<ContinuousClock.Instant?>(nil)

    init(
        _ store: FleetStore,
        _ sessions: Set<SessionName>,
        _ take: @escaping @Sendable (FleetEvent) async -> Void
    ) {
        self.store = store
        self.sessions = sessions
        self.take = take
        let all = store.records.names.all
        keys = EtcdKeys(from: all.start, upTo: all.end)
        watch = Mutex(FleetWatch(sessions, store.records))
    }

    /// Goes on until the task is cancelled.
    func follow() async {
        await EtcdWatch(store.client, keys, silence: store.silence).follow(after: nil) { [self] news in
            switch news {
            case .connected:
                readWithout.withLock { $0 = nil }
                store.flow.note(isWhole: true)
                await take(.connected)
                await catchUp()
            case .changes(let header, let changes):
                store.flow.note(isWhole: true)
                await tell(watch.withLock { $0.apply(changes, header, at: store.time) })
            case .resumed(let header):
                if await hasMissed(before: header) { await catchUp() }
                await take(.resumed)
            // What was missed is read once it is connected again.
            case .historyLost: watch.withLock { $0.historyCompacted() }
            case .trouble(let failure): await goOn(without: failure)
            }
        }
    }

    /// Reads what has changed, as seldom as a silent watch is begun anew, where no watch stands.
    ///
    /// What is between this host and etcd may answer calls all the same, and hold back what is streamed.
    private func goOn(without failure: EtcdFailure) async {
        await take(.trouble(store.flow.trouble ?? store.trouble(failure)))
        let now = ContinuousClock.now
        guard readWithout.withLock({ $0.map { now - $0 >= store.silence } ?? true }) else { return }
        readWithout.withLock { $0 = now }
        let news = await readAll()
        store.flow.note(isWhole: news == nil)
        await tell(news ?? [])
        await take(.trouble(store.flow.trouble ?? store.trouble(failure)))
    }

    /// Whether the watch, which has been silent until `header`, has not shown everything.
    private func hasMissed(before header: EtcdHeader) async -> Bool {
        let (isRead, gap) = watch.withLock { ($0.isRead, $0.gap(before: header)) }
        guard isRead else { return true }
        guard let gap else { return false }
        let changed = try? await store.call { client throws(EtcdFailure) in
            try await client.hasChanged(keys, after: gap)
        }
        guard let changed else { return false }
        guard changed.content else {
            // Hosts that say that they are there move etcd on too: it is asked once for each.
            watch.withLock { $0.confirm(until: changed.header) }
            return false
        }
        // Whatever has come to pass in this moment is told next.
        store.flow.note(isWhole: false)
        return true
    }

    /// Tells all that there is; where it cannot be read, every session is looked at, so that somebody hears why.
    private func catchUp() async {
        await tell(await readAll() ?? sessions.map { .changed($0) })
    }

    private func tell(_ news: [FleetEvent]) async {
        for news in news { await take(news) }
    }

    /// What has happened while no watch stood; `nil`: it cannot be read.
    ///
    /// Pages are of different moments: what the watch tells of the time between them comes once more, and does no harm.
    private func readAll() async -> [FleetEvent]? {
        watch.withLock { $0.forget() }
        var next = keys
        do throws(FleetStoreError) {
            while true {
                let page = try await store.call { [next] client throws(EtcdFailure) in
                    try await client.range(next, limit: FleetWatcher.pageLength)
                }
                watch.withLock { $0.read(page) }
                guard page.content.hasMore, let last = page.content.pairs.last else { break }
                next.start = last.key + [0]
            }
        } catch {
            // Of some sessions there may be a part, which would be taken for all.
            watch.withLock { $0.forget() }
            return nil
        }
        return watch.withLock { $0.all(at: store.time) }
    }
}
