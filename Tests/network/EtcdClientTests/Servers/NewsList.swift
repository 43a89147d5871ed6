// SPDX-License-Identifier: MIT

import Synchronization

@testable import EtcdClient

/// The events of a watch so far.
final class NewsList: Sendable {
    private let news = Mutex<[EtcdWatchEvent]>([])

    func add(_ one: EtcdWatchEvent) {
        news.withLock { $0.append(one) }
    }

    var all: [EtcdWatchEvent] { news.withLock(\.self) }

    /// The values written to keys, in order, with `gone` for a deletion.
    var values: [String] {
        all.flatMap { one -> [String] in
            guard case .changes(_, let changes) = one else { return [] }
            return changes.map { $0.isDeletion ? "gone" : String(decoding: $0.pair.value, as: UTF8.self) }
        }
    }

    var connections: Int {
        all.count { if case .connected = $0 { true } else { false } }
    }

    var resumptions: Int {
        all.count { if case .resumed = $0 { true } else { false } }
    }

    var failures: [EtcdFailure] {
        all.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
    }

    var troubles: Int { failures.count }
    var hasLostHistory: Bool { all.contains(.historyLost) }

    /// Whether the watch has connected again after it lost history.
    var standsAfterLoss: Bool {
        let loss = all.firstIndex(of: .historyLost)
        return loss.map { all[$0...].contains { if case .connected = $0 { true } else { false } } } ?? false
    }
}
