// SPDX-License-Identifier: MIT

import CHardening

/// The arguments of this process, beginning with its own name.
///
/// Swift's own list is empty without `/proc`. Each argument becomes a `String` only when it is read: creating
/// an array of all of them would take longer than parsing `get`.
package struct ProcessArguments: RandomAccessCollection {
    package init() {}

    package var startIndex: Int { 0 }
    package var endIndex: Int { Int(hardening_argument_count()) }

    package subscript(position: Int) -> String {
        unsafe hardening_argument(Int32(position)).map { unsafe String(cString: $0) } ?? ""
    }
}
