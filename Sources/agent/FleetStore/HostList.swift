// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import TokenCore

/// The hosts that have published their description.
struct HostList {
    /// The time after which a host is removed: 7 days.
    ///
    /// A host updates its description every hour.
    private static let absence = Duration.seconds(7 * 86_400)
    /// The maximum number of hosts.
    ///
    /// A longer table is of no use.
    private static let most: Int64 = 10_000

    let store: FleetStore
    private var records: FleetRecords { store.records }

    /// Returns the present hosts, sorted by name, and removes the others from etcd.
    func present() async throws(FleetStoreError) -> [HostDescription] {
        let range = records.names.hosts
        let answer = try await store.call { client throws(EtcdFailure) in
            try await client.range(EtcdKeyRange(from: range.start, upTo: range.end), limit: HostList.most)
        }
        var hosts: [HostDescription] = []
        for pair in answer.content.pairs {
            // A value that does not open was not written by a host of the fleet, or needs a key that this
            // host lacks.
            guard let key = records.names.host(named: pair.key),
                let card = try? records.host(pair.value, under: key)
            else { continue }
            if let time = store.time, time - card.seen > HostList.absence {
                await remove(pair)
            } else {
                hosts.append(card)
            }
        }
        return hosts.sorted { $0.label.utf8.lexicographicallyPrecedes($1.label.utf8) }
    }

    /// Removes a host unless it updates its description at this moment.
    ///
    /// A host without the permission leaves that to others.
    private func remove(_ pair: EtcdKeyValue) async {
        let transaction = EtcdTransaction(
            if: [.value(key: pair.key, pair.value)],
            then: [.delete(EtcdKeyRange(key: pair.key))]
        )
        _ = try? await store.call { client throws(EtcdFailure) in try await client.transact(transaction) }
    }
}
