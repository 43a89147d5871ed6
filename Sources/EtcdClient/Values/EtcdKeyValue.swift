// SPDX-License-Identifier: MIT

import Text

/// A key and its value, as etcd has them (etcd v3 API, `mvccpb.KeyValue`).
package struct EtcdKeyValue: Equatable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]
    /// The revision at which the key came to be.
    package var createRevision: Int64
    /// The revision of its last change.
    package var modRevision: Int64
    /// The lease that it ends with; 0: none.
    package var lease: Int64

    package init(
        key: [UInt8],
        value: [UInt8],
        createRevision: Int64 = 0,
        modRevision: Int64 = 0,
        lease: Int64 = 0
    ) {
        self.key = key
        self.value = value
        self.createRevision = createRevision
        self.modRevision = modRevision
        self.lease = lease
    }
}

/// One key, or all keys from one to another.
package struct EtcdKeys: Hashable, Sendable {
    package var start: [UInt8]
    /// The first key that is not among them; `nil`: `start` is the only one.
    package var end: [UInt8]?

    package init(key: [UInt8]) {
        start = key
    }

    package init(from start: [UInt8], upTo end: [UInt8]) {
        self.start = start
        self.end = end
    }

    /// All keys that begin with `prefix`.
    package init(prefix: [UInt8]) {
        start = prefix
        var end = prefix
        // The next prefix of the same length; bytes that are already the largest are given up.
        while end.last == .max { end.removeLast() }
        guard let last = end.popLast() else {
            // A zero byte stands for "to the last key".
            self.end = [0]
            return
        }
        self.end = end + [last + 1]
    }

    /// Whether `key` is one of them.
    package func contains(_ key: [UInt8]) -> Bool {
        guard let end else { return key == start }
        return !key.lexicographicallyPrecedes(start) && (end == [0] || key.lexicographicallyPrecedes(end))
    }
}

/// What comes with every answer: which etcd it is, and how far its history has come.
package struct EtcdHeader: Hashable, Sendable {
    /// A cluster that was restored from a snapshot has another one.
    package var cluster: UInt64
    package var member: UInt64
    /// Rises with each change; falls only when a snapshot is restored.
    package var revision: Int64

    package init(cluster: UInt64, member: UInt64, revision: Int64) {
        self.cluster = cluster
        self.member = member
        self.revision = revision
    }
}

/// An answer with its header and the time of the member that gave it.
package struct EtcdResponse<Content: Sendable>: Sendable {
    package var header: EtcdHeader
    /// The member's clock, whole seconds since 1970, UTC (`Date`, RFC 9110 §6.6.1); `nil`: it told none.
    package var date: Int64?
    package var content: Content
}

extension EtcdResponse: Equatable where Content: Equatable {}

/// What a range has brought.
package struct EtcdRange: Equatable, Sendable {
    package var pairs: [EtcdKeyValue]
    /// There are more keys than were asked for.
    package var hasMore: Bool
}

/// A lease that keys can end with.
package struct EtcdLease: Equatable, Sendable {
    package var id: Int64
    /// How long it lasts from the moment at which etcd granted it; etcd may make it longer than was asked.
    package var lifetime: Duration
}

/// How one member is.
package struct EtcdStatus: Equatable, Sendable {
    package var version: String
    /// The member that leads; 0: none, so nothing can be read or written.
    package var leader: UInt64
    /// Bytes of the database file.
    package var size: Int64
    /// What etcd itself says is wrong: an alarm such as `NOSPACE`.
    package var troubles: [String]

    /// It takes no more changes until it has been given room.
    package var isOutOfSpace: Bool { troubles.contains { $0.bytewise.contains("NOSPACE") } }
}
