// SPDX-License-Identifier: MIT

import Glibc

/// A system call that a test needed and did not get.
package struct SystemFailure: Error, CustomStringConvertible {
    package let description: String

    /// Reads `errno` unless the call returned its error number itself.
    package init(_ action: String, code: Int32 = errno) {
        description = "\(action): \(String(cString: strerror(code)))"
    }
}
