// SPDX-License-Identifier: MIT

import Text

/// The reason a value in etcd is not used.
package enum FleetValueError: Error, Equatable, Sendable {
    case truncated
    case tooLong(Int)
    /// The value is not of the type that belongs under its key.
    case notAValue
    case futureVersion(Int)
    /// The value is sealed under a key that this host does not have.
    case unknownKey(epoch: UInt32)
    /// The value is sealed under a key older than that of a value seen before.
    case retiredKey(epoch: UInt32)
    /// The value is for keepers, and this host is a reader.
    case closedToReaders
    /// The agent is locked and holds no secrets.
    case locked
    /// The key, the bytes and the name in etcd do not belong together.
    case forged
    /// The value opens, but its content is invalid.
    case malformed(String)

    /// A description that ends a sentence beginning with the name of the value.
    package var sentence: String {
        switch self {
        case .truncated: "is truncated"
        case .tooLong(let count): "is too long: \(count) bytes"
        case .notAValue: "has the wrong type"
        case .futureVersion(let version): "has format version \(version), newer than this program"
        case .unknownKey(let epoch):
            "is sealed under key \(epoch) of the fleet, which this host does not have"
        case .retiredKey(let epoch): "is sealed under key \(epoch) of the fleet, which has been replaced"
        case .closedToReaders: "is for keepers, and this host is a reader"
        case .locked: "cannot be opened while the agent is locked"
        case .forged: "was changed or moved"
        case .malformed(let reason): "is malformed: \(reason)"
        }
    }

    /// The remedy for this host, or `nil` if there is none.
    package var remedy: Remedy? {
        switch self {
        case .unknownKey: .setAndRestart("the fleet's new key on this host")
        case .futureVersion: .retry("with the newer version")
        case .truncated, .tooLong, .notAValue, .retiredKey, .closedToReaders, .locked, .forged, .malformed:
            nil
        }
    }

    /// Whether no host can use the value; otherwise another key, role or program could open it.
    package var isUseless: Bool {
        switch self {
        case .truncated, .tooLong, .notAValue, .retiredKey, .forged, .malformed: true
        case .futureVersion, .unknownKey, .closedToReaders, .locked: false
        }
    }

    init(_ fault: RecordError) {
        self =
            if case .malformed(let reason) = fault {
                .malformed(reason)
            } else if fault == .forged {
                .forged
            } else if fault == .truncated {
                .truncated
            } else {
                .malformed(fault.sentence)
            }
    }
}
