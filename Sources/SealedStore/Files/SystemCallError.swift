// SPDX-License-Identifier: MIT

import Glibc

/// A system call's refusal.
package struct SystemCallError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call as in section 2 of the manual: `fsync`, `openat`, ….
    package let call: String
    /// The `errno` it left.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// What the call left in `errno` just now.
    static func latest(_ call: String) -> SystemCallError {
        SystemCallError(call: call, code: errno)
    }

    /// The system's own words, for example "No space left on device".
    package var reason: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }

    package var description: String { "\(call): \(reason)" }
}
