// SPDX-License-Identifier: MIT

import Glibc

/// An error of a system call that a test needed.
package struct SystemFailure: Error, CustomStringConvertible {
    package let description: String

    /// Creates an error from `errno`, or from the error number that a call returned.
    package init(_ action: String, code: Int32 = errno) {
        description = "\(action): \(String(cString: strerror(code)))"
    }
}
