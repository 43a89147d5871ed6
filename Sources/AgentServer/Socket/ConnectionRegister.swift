// SPDX-License-Identifier: MIT

import Glibc

/// All open connections; makes room when one process, or all together, hold too many.
///
/// Only connections without a request are closed for that, the longest unused first, so a flood of idle ones
/// costs its own sender and nobody else. A peer that has just connected gets a moment to send its first
/// request. A connection whose request is here already, read or not, is never closed: an empty answer means
/// that there was no room at all.
///
/// Confined to the event loop.
final class ConnectionRegister {
    struct Limits {
        /// Connections one process may keep idle; far more than any pool of connections holds.
        var perProcess: Int
        /// Connections in all; the rest of the descriptors is for the store and the network.
        var overall: Int
        /// Rounds of housekeeping after which an unused connection is closed: between 5 and 5½ minutes.
        var idleRounds = 11
        /// Rounds of housekeeping after which one that never had a request is closed: between 30 and 60 seconds.
        var silentRounds = 2
        /// A connection that has had no request is new for this long: as long as a request may take.
        var newness = Duration.seconds(5)

        /// Leaves a quarter of the descriptors, at least 32, to everything that is not a connection.
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

    /// What is remembered of a connection, which keeps it, so that a request need not look for it.
    final class Entry {
        // Held by the register until the connection has closed, as the connection holds this.
        fileprivate let connection: Connection
        fileprivate let admittedAt: ContinuousClock.Instant
        /// Orders connections by their last request.
        fileprivate var lastUse: UInt64
        /// How often housekeeping found the connection without a request since its last one.
        fileprivate var idleRounds = 0
        fileprivate var hasHadRequest = false

        fileprivate init(_ connection: Connection, admittedAt: ContinuousClock.Instant, lastUse: UInt64) {
            self.connection = connection
            self.admittedAt = admittedAt
            self.lastUse = lastUse
        }
    }

    /// Connections at a time that are a crowd: what it leaves in the allocator is worth giving back.
    private static let crowd = 256

    private let limits: Limits
    private let now: () -> ContinuousClock.Instant
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var byProcess: [pid_t: Set<ObjectIdentifier>] = [:]
    private var uses: UInt64 = 0
    /// How many connections came to a crowd or left one.
    private(set) var burstChanges = 0
    /// Called when a connection comes and there was none.
    var onFirst: () -> Void = {}

    init(limits: Limits, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.limits = limits
        self.now = now
    }

    var count: Int { entries.count }

    /// Takes a connection in; `false`: there is no room, because every connection has a request.
    func admit(_ connection: Connection) -> Bool {
        let process = connection.caller.peer.processID
        if byProcess[process]?.count ?? 0 >= limits.perProcess {
            closeOldest(among: byProcess[process] ?? [], .unused)
        }
        guard entries.count < limits.overall || makeRoom() else { return false }
        let id = ObjectIdentifier(connection)
        uses += 1
        if entries.isEmpty { onFirst() }
        if entries.count >= Self.crowd { burstChanges += 1 }
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
        if entries.count + 1 >= Self.crowd { burstChanges += 1 }
        let process = connection.caller.peer.processID
        byProcess[process]?.remove(id)
        if byProcess[process]?.isEmpty == true { byProcess[process] = nil }
    }

    /// Notes that a connection is in use.
    func requestCame(on connection: Connection) {
        uses += 1
        guard let entry = connection.registration else { return }
        entry.lastUse = uses
        entry.idleRounds = 0
        entry.hasHadRequest = true
    }

    /// Closes connections that nobody has used for long; called by ``Housekeeping``, every half minute while there are any.
    func closeUnused() {
        for entry in entries.values where entry.connection.isIdle {
            entry.idleRounds += 1
            let rounds = entry.hasHadRequest ? limits.idleRounds : limits.silentRounds
            if entry.idleRounds >= rounds { entry.connection.closeUnlessAsked() }
        }
        // A burst may have left too many: its connections were new when they came.
        for (process, ids) in byProcess where ids.count > limits.perProcess { trim(process, ids) }
    }

    /// Closes what a process keeps idle beyond its share, the longest unused first.
    private func trim(_ process: pid_t, _ ids: Set<ObjectIdentifier>) {
        let start = now() - limits.newness
        let unused = ids.compactMap { entries[$0] }.filter { isChoice($0, .unused, newSince: start) }
        let surplus = ids.count - limits.perProcess
        for entry in unused.sorted(by: { $0.lastUse < $1.lastUse }).prefix(surplus)
        where entry.connection.closeUnlessAsked() {
            remove(entry.connection)
        }
    }

    /// Has every open connection watch who writes to it.
    func watchSenders() {
        for entry in entries.values { entry.connection.watchSender() }
    }

    func closeAll(where isMeant: (Connection) -> Bool = { _ in true }) {
        for entry in entries.values where isMeant(entry.connection) { entry.connection.close() }
    }

    /// Closes connections without a request, so that a stopping agent waits only for answers under way.
    func closeIdle() {
        for entry in entries.values where entry.connection.isIdle { entry.connection.closeUnlessAsked() }
    }

    /// Which idle connections may be closed for others.
    private enum Choice {
        /// Neither new nor in the middle of a request.
        case unused
        case new
        case unfinished
    }

    /// How many connections are tried at most, as some turn out to have a request.
    private static let mostAttempts = 8

    /// Closes one connection so that there is room for another.
    ///
    /// A process with more than its share gives first, its new ones too: a flood pays for itself. Then it is the one
    /// that was unused for longest; and where all idle ones are new or in the middle of a request, that of the
    /// process that holds the most.
    private func makeRoom() -> Bool {
        let greediest = byProcess.values.max { $0.count < $1.count } ?? []
        if greediest.count > limits.perProcess, closeOldest(among: greediest, .unused, .new, .unfinished) {
            return true
        }
        return closeOldest(among: entries.keys, .unused) || closeOldest(among: greediest, .new, .unfinished)
            || closeOldest(among: entries.keys, .new)
    }

    /// Closes the longest unused of `ids` that is one of the `choices`, the first of which goes first.
    private func closeOldest(among ids: some Sequence<ObjectIdentifier>, _ choices: Choice...) -> Bool {
        choices.contains { closeOldest(among: ids, $0) }
    }

    @discardableResult
    private func closeOldest(among ids: some Sequence<ObjectIdentifier>, _ choice: Choice) -> Bool {
        let start = now() - limits.newness
        var candidates = ids.compactMap { entries[$0] }.filter { isChoice($0, choice, newSince: start) }
        for _ in 0..<Self.mostAttempts {
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
        _ choice: Choice,
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
