// SPDX-License-Identifier: MIT

import Synchronization

/// A text that a server under test remembers between requests.
package final class FirstText: Sendable {
    private let text: Mutex<String>

    package init(_ text: String = "") {
        self.text = Mutex(text)
    }

    /// Whether `found` is the text; the first one that is found becomes it.
    package func take(_ found: String?) -> Bool {
        text.withLock { text in
            if text.isEmpty { text = found ?? "" }
            return text == found
        }
    }
}

/// Counts what a server under test does.
package final class TurnCounter: Sendable {
    private let count = Mutex(0)

    package init() {}

    /// Counts on, from 0.
    package func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
