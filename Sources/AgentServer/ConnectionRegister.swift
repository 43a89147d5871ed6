// SPDX-License-Identifier: MIT

import Glibc

/// All open connections; makes room when one peer, or all together, hold too many.
///
/// Only connections without a request are closed for that, the longest unused first, so a flood of idle ones
/// costs its own sender and nobody else.
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

        /// Leaves a quarter of the descriptors, at least 32, to everything that is no connection.
        init(descriptors: Int) {
            overall = max(8, min(4_096, descriptors - max(32, descriptors / 4)))
            perProcess = max(4, overall / 4)
        }

        /// As many descriptors as this process may open now.
        static var ofThisProcess: Limits {
            var limit = rlimit()
            guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                return Limits(descriptors: 1_024)
            }
            return Limits(descriptors: Int(clamping: limit.rlim_cur))
        }
    }

    private let limits: Limits
    private var connections: [ObjectIdentifier: Connection] = [:]
    private var byProcess: [pid_t: Set<ObjectIdentifier>] = [:]
    private var uses: UInt64 = 0

    init(limits: Limits) {
        self.limits = limits
    }

    var count: Int { connections.count }

    /// Takes a connection in; `false`: there is no room, because every connection has a request.
    func admit(_ connection: Connection) -> Bool {
        let process = connection.peer.processID
        if byProcess[process]?.count ?? 0 >= limits.perProcess {
            closeOldest(among: byProcess[process] ?? [])
        }
        if connections.count >= limits.overall {
            guard closeOldest(among: connections.keys) else { return false }
        }
        let id = ObjectIdentifier(connection)
        connections[id] = connection
        byProcess[process, default: []].insert(id)
        touch(connection)
        return true
    }

    func remove(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        guard connections.removeValue(forKey: id) != nil else { return }
        let process = connection.peer.processID
        byProcess[process]?.remove(id)
        if byProcess[process]?.isEmpty == true { byProcess[process] = nil }
    }

    /// Notes that a connection is in use.
    func touch(_ connection: Connection) {
        uses += 1
        connection.lastUse = uses
    }

    /// Closes connections nobody has used for long; called twice a minute.
    func closeUnused() {
        for connection in connections.values where connection.isIdle {
            connection.idleRounds += 1
            if connection.idleRounds >= limits.idleRounds { connection.close() }
        }
    }

    func closeAll() {
        for connection in connections.values { connection.close() }
    }

    /// Closes those without a request, so that only answers under way keep a stopping agent.
    func closeIdle() {
        for connection in connections.values where connection.isIdle { connection.close() }
    }

    @discardableResult
    private func closeOldest(among ids: some Sequence<ObjectIdentifier>) -> Bool {
        let oldest =
            ids.lazy.compactMap { self.connections[$0] }.filter(\.isIdle).min { $0.lastUse < $1.lastUse }
        guard let oldest else { return false }
        remove(oldest)
        oldest.close()
        return true
    }
}
