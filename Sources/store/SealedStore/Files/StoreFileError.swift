// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls

/// The reason a file of the store cannot be used.
package enum StoreFileError: Error, Equatable, Sendable, CustomStringConvertible {
    case missing
    /// The file is not a private regular file: it is a link or a device, belongs to another user, or others
    /// may access it.
    case untrusted(String)
    /// The agent's sandbox denies access.
    case sandboxed
    /// The file has the first number of bytes, which is not in the range of valid sizes.
    case wrongSize(Int, ClosedRange<Int>)
    /// A system call failed.
    case system(SystemCallError)

    /// Returns the error that the call has just left in `errno`.
    static func latest(_ call: String) -> StoreFileError { .system(.latest(call)) }

    /// The value of `errno`, or `nil` if no system call failed.
    var code: Int32? { if case .system(let error) = self { error.code } else { nil } }

    /// The error of a call that opens a file.
    var ofOpening: StoreFileError {
        switch code {
        case ENOENT: .missing
        case ELOOP: .untrusted("it is a symbolic link")
        default: self
        }
    }

    package var description: String {
        switch self {
        case .missing: "it does not exist"
        case .untrusted(let reason): reason
        case .sandboxed: "it is outside the agent's sandbox"
        case .wrongSize(0, _): "it is empty"
        case .wrongSize(let size, let sizes):
            "it has \(size) bytes instead of \(sizes.lowerBound) to \(sizes.upperBound)"
        case .system(let error): error.reason
        }
    }
}

extension StoreError {
    init(_ error: StoreFileError, at path: String) {
        self =
            if case .untrusted(let reason) = error {
                .unsafe(path: path, reason: reason)
            } else {
                .unavailable(path: path, reason: error.description)
            }
    }
}
