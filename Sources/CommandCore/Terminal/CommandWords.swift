// SPDX-License-Identifier: MIT

import CHardening

/// The words this process was started with, its own name first.
///
/// Swift's own list is empty without `/proc`. Each word becomes a `String` when it is read: an array of them would cost
/// `get` more than the parsing.
package struct CommandWords: RandomAccessCollection {
    package init() {}

    package var startIndex: Int { 0 }
    package var endIndex: Int { Int(hardening_argument_count()) }

    package subscript(position: Int) -> String {
        unsafe hardening_argument(Int32(position)).map { unsafe String(cString: $0) } ?? ""
    }
}
