// SPDX-License-Identifier: MIT

/// The reason a record, or other bytes of the store, cannot be used.
package enum RecordError: Error, Equatable, Sendable {
    /// Nothing was ever written to the file.
    case empty
    case truncated
    case notARecord
    case futureVersion(Int)
    /// The record belongs to another vault.
    case otherVault
    /// The record was written under another name, or in the other half of the file.
    case misplaced
    /// The record is sealed under a master key that this vault does not have.
    case unknownKey(epoch: UInt32)
    /// The record does not decrypt: the key, the bytes and the file do not belong together.
    case forged
    /// The record opens, but its content is invalid.
    case malformed(String)
    /// The record is an old copy: the manifest contains a later generation.
    case rolledBack(found: UInt64, expected: UInt64)
    case file(StoreFileError)

    /// Returns the result of `read`, or throws ``file(_:)``.
    static func reading<Value>(_ read: () throws(StoreFileError) -> Value) throws(RecordError) -> Value {
        do throws(StoreFileError) {
            return try read()
        } catch {
            throw .file(error)
        }
    }

    /// Creates the error for a content that opens but cannot be decoded.
    init(ofContent error: any Error) {
        switch error {
        case RecordError.truncated: self = .malformed("it is truncated")
        case let error as RecordError: self = error
        default: self = .malformed("\(error)")
        }
    }

    /// A description that ends a sentence beginning with the file's name.
    var sentence: String {
        switch self {
        case .empty: "is empty"
        case .truncated: "is truncated"
        case .notARecord: "is not a record"
        case .futureVersion(let version):
            "has format version \(version), newer than this program; not changed"
        case .otherVault: "belongs to another vault"
        case .misplaced: "was renamed or rearranged"
        case .unknownKey(let epoch): "is sealed under key \(epoch), which this vault does not have"
        case .forged: "was changed or damaged"
        case .malformed(let reason): "is malformed: \(reason)"
        case .rolledBack(let found, let expected): "is an old copy (\(found) instead of \(expected))"
        case .file(let fault): "cannot be used: \(fault)"
        }
    }
}
