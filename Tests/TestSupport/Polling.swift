// SPDX-License-Identifier: MIT

/// Waiting for something another process does.
package enum Polling {
    /// Asks every few milliseconds until `condition` holds; `false` when that took longer than `limit`.
    package static func until(
        within limit: Duration = .seconds(20),
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        try await value(within: limit) { try await condition() ? true : nil } ?? false
    }

    /// Asks every few milliseconds until there is a value; `nil` when that took longer than `limit`.
    package static func value<Value>(
        within limit: Duration = .seconds(20),
        _ find: () async throws -> Value?
    ) async throws -> Value? {
        let end = ContinuousClock.now + limit
        while true {
            if let value = try await find() { return value }
            guard ContinuousClock.now < end else { return nil }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
