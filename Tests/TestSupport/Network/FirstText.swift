// SPDX-License-Identifier: MIT

import Synchronization

/// A text that a server under test remembers between requests.
package final class FirstText: Sendable {
    private let text: Mutex<String>

    package init(_ text: String = "") {
        self.text = Mutex(text)
    }

    /// Returns whether `found` is the text.
    ///
    /// The first call sets the text.
    package func take(_ found: String?) -> Bool {
        text.withLock { text in
            if text.isEmpty { text = found ?? "" }
            return text == found
        }
    }
}

/// A counter for the actions of a server under test.
package final class TurnCounter: Sendable {
    private let count = Mutex(0)

    package init() {}

    /// Returns the next number, beginning with 0.
    package func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
