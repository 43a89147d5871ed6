// SPDX-License-Identifier: MIT

/// Why a file of the store could not be used.
package enum StoreFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no such file.
    case missing
    /// It exists, but is not a plain file of ours: a link, a device, someone else's, readable by others.
    case untrusted(String)
    /// It has this many bytes, and can only be what is looked for with as many as that.
    case wrongSize(Int, ClosedRange<Int>)
    /// The system refused.
    case system(SystemCallError)

    package var description: String {
        switch self {
        case .missing: "it does not exist"
        case .untrusted(let reason): reason
        case .wrongSize(0, _): "it is empty"
        case .wrongSize(let size, let sizes):
            "it has \(size) bytes instead of \(sizes.lowerBound) to \(sizes.upperBound)"
        case .system(let error): error.reason
        }
    }
}
