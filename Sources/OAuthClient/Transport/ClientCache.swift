// SPDX-License-Identifier: MIT

import ServerCertificates
import Synchronization

/// The HTTP clients in use, one for each set of connection settings.
///
/// A client whose connection hangs would let the next request wait for that connection too, so clients can be
/// retired: they end with their last request, and the next request gets a new one.
final class ClientCache<Client: AnyObject & Sendable>: Sendable {
    /// Requests with the same settings share a client, hence one TLS context.
    struct Key: Hashable {
        /// Whom the connections have to lead to; `nil`: any server without TLS.
        var server: ServerIdentity?
        var credentials: TLSCredentials
        var publicAddressOnly: Bool
        /// Where all connections lead, if no resolver is asked.
        var address: String?
    }

    private struct Entry {
        var key: Key
        var client: Client
        var users = 0
        var isRetired = false
    }

    /// Clients that wait for a request: one that reads the system's certificates keeps 2 MB.
    private static var mostIdle: Int { 4 }

    private let entries: Mutex<[ObjectIdentifier: Entry]> = Mutex([:])
    /// Closes the connections of a client nobody uses any more.
    private let end: @Sendable (Client) async -> Void

    init(end: @escaping @Sendable (Client) async -> Void) {
        self.end = end
    }

    deinit {
        let end = end
        for entry in entries.withLock({ $0.values }) { Task { await end(entry.client) } }
    }

    /// The client for `key`, made when there is none; to be given back with ``giveBack(_:)``.
    func borrow(_ key: Key, make: () -> Client) -> Client {
        entries.withLock { entries in
            if let known = entries.first(where: { $0.value.key == key && !$0.value.isRetired })?.key {
                entries[known]?.users += 1
                return entries[known]?.client ?? make()
            }
            let client = make()
            entries[ObjectIdentifier(client)] = Entry(key: key, client: client, users: 1)
            return client
        }
    }

    /// A request is over; a retired client ends with its last one, and so does one of too many.
    func giveBack(_ client: Client) {
        let isDone = entries.withLock { entries in
            let id = ObjectIdentifier(client)
            entries[id]?.users -= 1
            guard let entry = entries[id], entry.users == 0 else { return false }
            let idle = entries.values.count { $0.users == 0 }
            guard entry.isRetired || idle > ClientCache.mostIdle else { return false }
            entries[id] = nil
            return true
        }
        // A client whose connection hangs ends only with that connection; nobody waits for it.
        if isDone { Task { await end(client) } }
    }

    /// Makes later requests get new clients; requests under way keep theirs.
    func retireAll() {
        let unused = entries.withLock { entries in
            for id in entries.keys { entries[id]?.isRetired = true }
            let unused = entries.filter { $0.value.users == 0 }
            for id in unused.keys { entries[id] = nil }
            return unused.values.map(\.client)
        }
        for client in unused { Task { await end(client) } }
    }

    /// Closes everything at once.
    func shutDown() async {
        let open = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.client)
        }
        for client in open { await end(client) }
    }
}
