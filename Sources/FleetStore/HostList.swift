// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import TokenCore

/// The hosts that have said what they are.
struct HostList {
    /// A host says each hour that it is there: one that has not done so for this long has been taken away.
    private static let absence = Duration.seconds(7 * 86_400)
    /// A table with more rows is of no use to anybody.
    private static let most: Int64 = 10_000

    let store: FleetStore
    private var records: FleetRecords { store.records }

    /// Those that are there, by their names; the others are taken out of etcd.
    func present() async throws(FleetStoreError) -> [HostDescription] {
        let range = records.names.hosts
        let answer = try await store.call { client throws(EtcdFailure) in
            try await client.range(EtcdKeys(from: range.start, upTo: range.end), limit: HostList.most)
        }
        var hosts: [HostDescription] = []
        for pair in answer.content.pairs {
            // What does not open was written by no host of the fleet, or under a key that this one does not have.
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

    /// Unless the host comes back at this moment; who has no right to it leaves it to others.
    private func remove(_ pair: EtcdKeyValue) async {
        let transaction = EtcdTransaction(
            if: [.value(key: pair.key, pair.value)],
            then: [.delete(EtcdKeys(key: pair.key))]
        )
        _ = try? await store.call { client throws(EtcdFailure) in try await client.transact(transaction) }
    }
}
