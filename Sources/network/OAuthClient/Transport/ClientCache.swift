// SPDX-License-Identifier: MIT

import ServerCertificates
import Synchronization

/// A cache of HTTP clients, one for each set of connection settings.
///
/// A client with a stalled connection would make the next request wait for that connection too. Clients can
/// therefore be retired: a retired client ends with its last request, and the next request gets a new client.
final class ClientCache<Client: AnyObject & Sendable>: Sendable {
    /// The connection settings of a client.
    ///
    /// Requests with the same settings share a client and its TLS context.
    struct Key: Hashable {
        /// The identity that the servers must prove, or `nil` for any server without TLS.
        var server: ServerIdentity?
        var credentials: LoadedServerTrust
        var publicAddressOnly: Bool
        /// The address that all connections lead to, or `nil` to use a resolver.
        var address: String?
    }

    private struct Entry {
        var key: Key
        var client: Client
        var users = 0
        var isRetired = false
    }

    /// The maximum number of idle clients.
    ///
    /// A client that reads the system's certificates uses 2 MB.
    private static var maximumIdle: Int { 4 }

    private let entries: Mutex<[ObjectIdentifier: Entry]> = Mutex([:])
    /// Closes the connections of a client that is no longer used.
    private let end: @Sendable (Client) async -> Void

    init(end: @escaping @Sendable (Client) async -> Void) {
        self.end = end
    }

    deinit {
        let end = end
        for entry in entries.withLock({ $0.values }) { Task { await end(entry.client) } }
    }

    /// Returns the client for `key`, creating it if there is none.
    ///
    /// The caller returns it with ``release(_:)``.
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

    /// Returns a client after a request.
    ///
    /// The client ends if this was its last request and it is retired, or if too many clients are idle.
    func release(_ client: Client) {
        let isDone = entries.withLock { entries in
            let id = ObjectIdentifier(client)
            entries[id]?.users -= 1
            guard let entry = entries[id], entry.users == 0 else { return false }
            let idle = entries.values.count { $0.users == 0 }
            guard entry.isRetired || idle > ClientCache.maximumIdle else { return false }
            entries[id] = nil
            return true
        }
        // Not awaited: a client with a stalled connection shuts down only when that connection ends.
        if isDone { Task { await end(client) } }
    }

    /// Makes later requests use new clients.
    ///
    /// Requests in flight keep theirs.
    func retireAll() {
        let unused = entries.withLock { entries in
            for id in entries.keys { entries[id]?.isRetired = true }
            let unused = entries.filter { $0.value.users == 0 }
            for id in unused.keys { entries[id] = nil }
            return unused.values.map(\.client)
        }
        for client in unused { Task { await end(client) } }
    }

    /// Closes all clients immediately, including those in use.
    func shutDown() async {
        let open = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.client)
        }
        for client in open { await end(client) }
    }
}
