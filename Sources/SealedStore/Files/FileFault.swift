// SPDX-License-Identifier: MIT

/// Why a file of the store could not be used.
package enum FileFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no such file.
    case missing
    /// It exists, but is not a plain file of ours: a link, a device, someone else's, readable by others.
    case untrusted(String)
    /// The system refused.
    case system(SystemCallError)

    package var description: String {
        switch self {
        case .missing: "it does not exist"
        case .untrusted(let reason): reason
        case .system(let error): error.reason
        }
    }
}
