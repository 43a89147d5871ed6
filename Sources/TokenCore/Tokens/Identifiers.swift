// SPDX-License-Identifier: MIT

/// Names a secret held by sealed memory; says nothing about its bytes.
package struct SecretID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Names one request that waits for a token.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Numbers the refresh attempts of one session; a result with another number is late and ignored.
package struct AttemptNumber: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (left: AttemptNumber, right: AttemptNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Numbers the logins of one session, as ``AttemptNumber`` does its refreshes.
package struct LoginNumber: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Numbers the records a session asks to be made durable.
package struct CommitNumber: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
