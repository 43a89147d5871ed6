// SPDX-License-Identifier: MIT

import Glibc

/// The open connections, of which some are closed when one process or all together hold too many.
///
/// Only connections without a request are closed for that, the longest unused first, so a flood of idle ones
/// affects only its own sender. A peer that has just connected gets a moment to send its first request. A
/// connection whose request has arrived, read or not, is never closed: an empty response means that there was
/// no room at all.
///
/// Confined to the event loop.
final class ConnectionRegister {
    struct Limits {
        /// The maximum number of idle connections per process, far more than any connection pool holds.
        var perProcess: Int
        /// The maximum number of connections.
        ///
        /// The other descriptors are for the store and the network.
        var overall: Int
        /// The number of housekeeping rounds after which an unused connection is closed: between 5 and 5½
        /// minutes.
        var idleRounds = 11
        /// The number of rounds after which a connection without any request is closed: between 30 and 60
        /// seconds.
        var silentRounds = 2
        /// The time during which a connection without a request counts as new: the time a request may take.
        var newness = Duration.seconds(5)

        /// Reserves a quarter of the descriptors, at least 32, for everything that is not a connection.
        init(descriptors: Int) {
            overall = max(8, min(4_096, descriptors - max(32, descriptors / 4)))
            perProcess = max(4, overall / 4)
        }

        /// The limits for the descriptors that this process may open now.
        static var ofThisProcess: Limits {
            var limit = rlimit()
            guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                return Limits(descriptors: 1_024)
            }
            return Limits(descriptors: Int(clamping: limit.rlim_cur))
        }
    }

    /// The entry of a connection, which holds it, so that a request need not search for it.
    final class Entry {
        // The register holds the entry until the connection has closed, as the connection holds the entry
        // too.
        fileprivate let connection: Connection
        fileprivate let admittedAt: ContinuousClock.Instant
        /// The number of the latest request, which orders connections by their last use.
        fileprivate var lastUse: UInt64
        /// The number of housekeeping rounds without a request since the last one.
        fileprivate var idleRounds = 0
        fileprivate var hasHadRequest = false

        fileprivate init(_ connection: Connection, admittedAt: ContinuousClock.Instant, lastUse: UInt64) {
            self.connection = connection
            self.admittedAt = admittedAt
            self.lastUse = lastUse
        }
    }

    /// The number of connections that are a burst: the memory freed after it is worth returning to the
    /// system.
    private static let burstThreshold = 256

    private let limits: Limits
    private let now: () -> ContinuousClock.Instant
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var byProcess: [pid_t: Set<ObjectIdentifier>] = [:]
    private var uses: UInt64 = 0
    /// The number of connections that arrived during a burst or left one.
    private(set) var burstChanges = 0
    /// The closure that is called when a first connection arrives.
    var onFirst: () -> Void = {}

    init(limits: Limits, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.limits = limits
        self.now = now
    }

    var count: Int { entries.count }

    /// Adds a connection.
    ///
    /// - Returns: `false` if there is no room, because every connection has a request.
    func admit(_ connection: Connection) -> Bool {
        let process = connection.caller.peer.processID
        if byProcess[process]?.count ?? 0 >= limits.perProcess {
            closeOldest(among: byProcess[process] ?? [], .unused)
        }
        guard entries.count < limits.overall || makeRoom() else { return false }
        let id = ObjectIdentifier(connection)
        uses += 1
        if entries.isEmpty { onFirst() }
        if entries.count >= Self.burstThreshold { burstChanges += 1 }
        let entry = Entry(connection, admittedAt: now(), lastUse: uses)
        entries[id] = entry
        connection.registration = entry
        byProcess[process, default: []].insert(id)
        return true
    }

    func remove(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        connection.registration = nil
        guard entries.removeValue(forKey: id) != nil else { return }
        if entries.count + 1 >= Self.burstThreshold { burstChanges += 1 }
        let process = connection.caller.peer.processID
        byProcess[process]?.remove(id)
        if byProcess[process]?.isEmpty == true { byProcess[process] = nil }
    }

    /// Records that a connection is in use.
    func requestCame(on connection: Connection) {
        uses += 1
        guard let entry = connection.registration else { return }
        entry.lastUse = uses
        entry.idleRounds = 0
        entry.hasHadRequest = true
    }

    /// Closes connections that have been unused for long.
    ///
    /// ``Housekeeping`` calls it every half minute while there are any connections.
    func closeUnused() {
        for entry in entries.values where entry.connection.isIdle {
            entry.idleRounds += 1
            let rounds = entry.hasHadRequest ? limits.idleRounds : limits.silentRounds
            if entry.idleRounds >= rounds { entry.connection.closeUnlessAsked() }
        }
        // A burst may have left too many, as its connections were new when they arrived.
        for (process, ids) in byProcess where ids.count > limits.perProcess { trim(process, ids) }
    }

    /// Closes idle connections of a process beyond its share, the longest unused first.
    private func trim(_ process: pid_t, _ ids: Set<ObjectIdentifier>) {
        let start = now() - limits.newness
        let unused = ids.compactMap { entries[$0] }.filter { isChoice($0, .unused, newSince: start) }
        let surplus = ids.count - limits.perProcess
        for entry in unused.sorted(by: { $0.lastUse < $1.lastUse }).prefix(surplus)
        where entry.connection.closeUnlessAsked() {
            remove(entry.connection)
        }
    }

    /// Makes every open connection check the writer of its bytes.
    func watchSenders() {
        for entry in entries.values { entry.connection.watchSender() }
    }

    func closeAll(where isMeant: (Connection) -> Bool = { _ in true }) {
        for entry in entries.values where isMeant(entry.connection) { entry.connection.close() }
    }

    /// Closes connections without a request, so that a stopping agent waits only for active responses.
    func closeIdle() {
        for entry in entries.values where entry.connection.isIdle { entry.connection.closeUnlessAsked() }
    }

    /// The kind of idle connections that may be closed for others.
    private enum IdleKind {
        /// Neither new nor in the middle of a request.
        case unused
        case new
        case unfinished
    }

    /// The maximum number of connections to try, as some turn out to have a request.
    private static let maximumAttempts = 8

    /// Closes one connection to make room for another.
    ///
    /// A process with more than its share is the first to lose one, including new ones, so a flood affects
    /// its own sender. Next is the longest unused connection. If all idle ones are new or in the middle of a
    /// request, the process with the most connections loses one.
    private func makeRoom() -> Bool {
        let greediest = byProcess.values.max { $0.count < $1.count } ?? []
        if greediest.count > limits.perProcess, closeOldest(among: greediest, .unused, .new, .unfinished) {
            return true
        }
        return closeOldest(among: entries.keys, .unused) || closeOldest(among: greediest, .new, .unfinished)
            || closeOldest(among: entries.keys, .new)
    }

    /// Closes the longest unused connection of `ids` that is of one of the kinds `choices`, tried in order.
    private func closeOldest(among ids: some Sequence<ObjectIdentifier>, _ choices: IdleKind...) -> Bool {
        choices.contains { closeOldest(among: ids, $0) }
    }

    @discardableResult
    private func closeOldest(among ids: some Sequence<ObjectIdentifier>, _ choice: IdleKind) -> Bool {
        let start = now() - limits.newness
        var candidates = ids.compactMap { entries[$0] }.filter { isChoice($0, choice, newSince: start) }
        for _ in 0..<Self.maximumAttempts {
            guard let place = candidates.indices.min(by: { candidates[$0].lastUse < candidates[$1].lastUse })
            else {
                return false
            }
            let oldest = candidates[place].connection
            if oldest.closeUnlessAsked() {
                remove(oldest)
                return true
            }
            candidates.swapAt(place, candidates.count - 1)
            candidates.removeLast()
        }
        return false
    }

    private func isChoice(
        _ entry: Entry,
        _ choice: IdleKind,
        newSince start: ContinuousClock.Instant
    ) -> Bool {
        guard entry.connection.isIdle else { return false }
        switch choice {
        case .unused:
            return !entry.connection.hasPartOfRequest && (entry.hasHadRequest || entry.admittedAt <= start)
        case .new: return !entry.connection.hasPartOfRequest
        case .unfinished: return true
        }
    }
}
