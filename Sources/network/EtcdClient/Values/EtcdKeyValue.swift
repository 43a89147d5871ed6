// SPDX-License-Identifier: MIT

import Text

/// A key and its value (etcd v3 API, `mvccpb.KeyValue`).
package struct EtcdKeyValue: Equatable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]
    /// The revision at which the key was created.
    var createRevision: Int64 = 0
    /// The revision of the key's last change.
    package var modRevision: Int64 = 0
    /// The lease with which the key expires, or 0 for none.
    package var lease: Int64 = 0
}

/// One key, or a range of keys.
package struct EtcdKeyRange: Hashable, Sendable {
    package var start: [UInt8]
    /// The end of the range, which is not part of it, or `nil` if `start` is the only key.
    package var end: [UInt8]?

    package init(key: [UInt8]) {
        start = key
    }

    package init(from start: [UInt8], upTo end: [UInt8]) {
        self.start = start
        self.end = end
    }

    /// Creates the range of all keys that begin with `prefix`.
    package init(prefix: [UInt8]) {
        start = prefix
        var end = prefix
        // The end is the next prefix of the same length. Trailing 0xFF bytes cannot be incremented and are
        // dropped.
        while end.last == .max { end.removeLast() }
        guard let last = end.popLast() else {
            // A zero byte means "to the last key".
            self.end = [0]
            return
        }
        self.end = end + [last + 1]
    }

    /// Returns whether `key` is in the range.
    package func contains(_ key: [UInt8]) -> Bool {
        guard let end else { return key == start }
        return !key.lexicographicallyPrecedes(start) && (end == [0] || key.lexicographicallyPrecedes(end))
    }
}

/// The header of every response, which identifies the cluster and the state of its history.
package struct EtcdHeader: Hashable, Sendable {
    /// The ID of the cluster, which changes when the cluster is restored from a snapshot.
    package var cluster: UInt64
    package var member: UInt64
    /// The revision, which rises with each change and falls only when a snapshot is restored.
    package var revision: Int64
}

/// A response with its header and the responding member's time.
package struct EtcdResponse<Content: Sendable>: Sendable {
    package var header: EtcdHeader
    /// The member's time in whole seconds since 1970, UTC (`Date`, RFC 9110 §6.6.1), or `nil` without that
    /// field.
    package var date: Int64?
    package var content: Content
}

extension EtcdResponse: Equatable where Content: Equatable {}

/// The result of a range request.
package struct EtcdRangeResult: Equatable, Sendable {
    package var pairs: [EtcdKeyValue]
    /// Whether there are more keys than the request's limit.
    package var hasMore: Bool
}

/// A lease, with which keys can expire.
package struct EtcdLease: Equatable, Sendable {
    package var id: Int64
    /// The lifetime from the moment of the grant, which may be longer than requested.
    package var lifetime: Duration
}

/// The status of one member.
package struct EtcdStatus: Equatable, Sendable {
    package var version: String
    /// The leader, or 0 if there is none, so that nothing can be read or written.
    package var leader: UInt64
    /// The size of the database file, in bytes.
    package var size: Int64
    /// The errors that the member reports about itself, such as the alarm `NOSPACE`.
    package var troubles: [String]

    /// Whether etcd accepts no more changes until space is freed.
    package var isOutOfSpace: Bool { troubles.contains { $0.bytewise.contains("NOSPACE") } }
}
