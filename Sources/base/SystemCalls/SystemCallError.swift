// SPDX-License-Identifier: MIT

import Glibc

/// The failure of a system call.
package struct SystemCallError: Equatable, Sendable, CustomStringConvertible {
    /// The name of the call as in section 2 of the manual: `fsync`, `openat`, ….
    package let call: String
    /// The value of `errno`.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Returns the error that the call has just left in `errno`.
    package static func latest(_ call: String) -> SystemCallError {
        SystemCallError(call: call, code: errno)
    }

    /// The system's message, for example "No space left on device".
    package var reason: String { SystemErrorText.text(code) }

    package var description: String { "\(call): \(reason)" }
}
