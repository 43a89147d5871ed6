// SPDX-License-Identifier: MIT

import EtcdClient
import Synchronization
import TokenCore

/// A source of events about the fleet's sessions, from etcd's watch and from reads where the watch reports
/// nothing.
final class FleetWatcher: Sendable {
    /// The number of keys in one response, chosen so that their values stay below its maximum size.
    private static let pageLength: Int64 = 100

    private let store: FleetStore
    private let sessions: Set<SessionName>
    private let keys: EtcdKeyRange
    private let take: @Sendable (FleetEvent) async -> Void
    private let watch: Mutex<WatchedFleetState>
    /// The time of the last full read without a watch, or `nil` if there was none since the last connected
    /// watch.
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
        keys = EtcdKeyRange(from: all.start, upTo: all.end)
        watch = Mutex(WatchedFleetState(sessions, store.records))
    }

    /// Passes on events until the task is cancelled.
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
            // Missed changes are read once the watch is connected again.
            case .historyLost: watch.withLock { $0.historyCompacted() }
            case .failed(let failure): await pollChanges(without: failure)
            }
        }
    }

    /// Reads the changes while no watch is connected, as rarely as a silent watch is reopened.
    ///
    /// A proxy between this host and etcd may pass on calls but hold back streams.
    private func pollChanges(without failure: EtcdFailure) async {
        await take(.storeError(store.flow.storeError ?? store.storeError(failure)))
        let now = ContinuousClock.now
        guard readWithout.withLock({ $0.map { now - $0 >= store.silence } ?? true }) else { return }
        readWithout.withLock { $0 = now }
        let news = await readAll()
        store.flow.note(isWhole: news == nil)
        await tell(news ?? [])
        await take(.storeError(store.flow.storeError ?? store.storeError(failure)))
    }

    /// Returns whether the watch, which has been silent until `header`, has missed a change.
    private func hasMissed(before header: EtcdHeader) async -> Bool {
        let (isRead, gap) = watch.withLock { ($0.isRead, $0.gap(before: header)) }
        guard isRead else { return true }
        guard let gap else { return false }
        let changed = try? await store.call { client throws(EtcdFailure) in
            try await client.hasChanged(keys, after: gap)
        }
        guard let changed else { return false }
        guard changed.content else {
            // The presence updates of other hosts also advance the revision. Each revision is checked once.
            watch.withLock { $0.confirm(until: changed.header) }
            return false
        }
        // If the change was made only just now, the watch reports it next, which resets this.
        store.flow.note(isWhole: false)
        return true
    }

    /// Reports all sessions.
    ///
    /// If they cannot be read, each session is reported as changed, so that the error is noticed.
    private func catchUp() async {
        await tell(await readAll() ?? sessions.map { .changed($0) })
    }

    private func tell(_ news: [FleetEvent]) async {
        for news in news { await take(news) }
    }

    /// Reads all sessions and returns their events, or `nil` if they cannot be read.
    ///
    /// Pages are of different moments. The watch reports changes between them again, which is harmless.
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
            // Some sessions may be incomplete, and would be treated as complete.
            watch.withLock { $0.forget() }
            return nil
        }
        return watch.withLock { $0.all(at: store.time) }
    }
}
