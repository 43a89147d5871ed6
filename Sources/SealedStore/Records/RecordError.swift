// SPDX-License-Identifier: MIT

/// Why a record cannot be used.
package enum RecordError: Error, Equatable, Sendable {
    /// Nothing was ever written there.
    case empty
    case truncated
    case notARecord
    case futureVersion(Int)
    /// It belongs to another vault.
    case otherVault
    /// It was written under another name, or in the other half of the file.
    case misplaced
    /// It is sealed under a master key this vault does not have.
    case unknownKey(epoch: UInt32)
    /// Key, bytes and place do not belong together.
    case forged
    /// It opens, but what is inside makes no sense.
    case malformed(String)
    /// The manifest has seen a later generation.
    case rolledBack(found: UInt64, expected: UInt64)
    case file(StoreFileError)

    /// What is wrong, as the end of a sentence that begins with the file's name.
    var sentence: String {
        switch self {
        case .empty: "is empty"
        case .truncated: "is cut short"
        case .notARecord: "is not a record"
        case .futureVersion(let version):
            "has format version \(version), newer than this program; it was left alone"
        case .otherVault: "belongs to another vault"
        case .misplaced: "was renamed or rearranged"
        case .unknownKey(let epoch): "is sealed under key \(epoch), which this vault does not have"
        case .forged: "was changed or damaged"
        case .malformed(let reason): "makes no sense: \(reason)"
        case .rolledBack(let found, let expected): "is an old copy (\(found) instead of \(expected))"
        case .file(let fault): "cannot be used: \(fault)"
        }
    }
}
