// SPDX-License-Identifier: MIT

/// A conditional transaction, which makes all changes if all conditions hold, and none otherwise (etcd v3
/// API, `TxnRequest`).
package struct EtcdTransaction: Equatable, Sendable {
    package enum Condition: Equatable, Sendable {
        /// None of these keys exists.
        case absent(EtcdKeyRange)
        /// The key has exactly this value.
        case value(key: [UInt8], [UInt8])
        /// The key was last changed at this revision.
        case modified(key: [UInt8], Int64)
    }

    package enum Change: Equatable, Sendable {
        /// Writes the key, which expires with `lease` unless the lease is `nil`.
        case put(key: [UInt8], value: [UInt8], lease: Int64? = nil)
        case delete(EtcdKeyRange)
    }

    package var conditions: [Condition]
    package var changes: [Change]

    package init(if conditions: [Condition], then changes: [Change]) {
        self.conditions = conditions
        self.changes = changes
    }
}
