// SPDX-License-Identifier: MIT

/// The name of a secret held by sealed memory.
///
/// It reveals nothing about the bytes.
package struct SecretID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The name of one request that waits for a token.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The number of a refresh attempt of one session.
///
/// A result with another number is late and ignored.
package struct AttemptNumber: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (left: AttemptNumber, right: AttemptNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The number of a login of one session, used like ``AttemptNumber`` for refreshes.
package struct LoginNumber: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The number of a record that a session asks to be made durable.
package struct CommitNumber: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
