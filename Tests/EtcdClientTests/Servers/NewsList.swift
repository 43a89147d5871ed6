// SPDX-License-Identifier: MIT

import Synchronization

@testable import EtcdClient

/// What a watch has told so far.
final class NewsList: Sendable {
    private let news = Mutex<[EtcdWatchEvent]>([])

    func add(_ one: EtcdWatchEvent) {
        news.withLock { $0.append(one) }
    }

    var all: [EtcdWatchEvent] { news.withLock(\.self) }

    /// The values that keys were given, in order; `gone` where one was deleted.
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
        all.compactMap { if case .trouble(let failure) = $0 { failure } else { nil } }
    }

    var troubles: Int { failures.count }
    var hasLostHistory: Bool { all.contains(.historyLost) }

    /// History was lost, and the watch stands again.
    var standsAfterLoss: Bool {
        let loss = all.firstIndex(of: .historyLost)
        return loss.map { all[$0...].contains { if case .connected = $0 { true } else { false } } } ?? false
    }
}
