// SPDX-License-Identifier: MIT

import Text

/// A failure to store data.
package struct StorageFailure: Error, Equatable, Sendable {
    /// The failed operation and the reason, for the user: "cannot reserve 32 KiB of disk space for
    /// work in …: No space left on device".
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
