// SPDX-License-Identifier: MIT

/// Why a value in etcd is not used.
package enum FleetValueError: Error, Equatable, Sendable {
    case truncated
    case tooLong(Int)
    /// It is something else than belongs under its key.
    case notAValue
    case futureVersion(Int)
    /// It is sealed under a key that this host does not have.
    case unknownKey(epoch: UInt32)
    /// It is sealed under a key that had been replaced when a later value came.
    case retiredKey(epoch: UInt32)
    /// It is for keepers, and this host is a reader.
    case closedToReaders
    /// The agent is locked, and keeps no secret.
    case locked
    /// Key, bytes and place do not belong together.
    case forged
    /// It opens, but what is inside makes no sense.
    case malformed(String)

    /// What is wrong, as the end of a sentence that begins with what was read.
    package var sentence: String {
        switch self {
        case .truncated: "is cut short"
        case .tooLong(let count): "has \(count) bytes, more than is ever written"
        case .notAValue: "is not what belongs there"
        case .futureVersion(let version): "has format version \(version), newer than this program"
        case .unknownKey(let epoch):
            "is sealed under key \(epoch) of the fleet, which this host does not have"
        case .retiredKey(let epoch): "is sealed under key \(epoch) of the fleet, which has been replaced"
        case .closedToReaders: "is for keepers, and this host is a reader"
        case .locked: "cannot be opened while the agent is locked"
        case .forged: "was changed or moved"
        case .malformed(let reason): "makes no sense: \(reason)"
        }
    }

    /// What helps this host alone; `nil`: nothing does.
    package var remedy: String? {
        switch self {
        case .unknownKey: "give this host the fleet's new key, and restart its agent"
        case .futureVersion: "install the version here that has written it"
        case .truncated, .tooLong, .notAValue, .retiredKey, .closedToReaders, .locked, .forged, .malformed:
            nil
        }
    }

    /// What is there is of no use to any host; else another key, role or program would open it.
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
