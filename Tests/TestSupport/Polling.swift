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

/// Looks at something again and again while a test does its work.
package final class Watch<Finding: Hashable & Sendable>: Sendable {
    package struct Result: Sendable {
        package var findings: Set<Finding> = []
        /// How often it looked.
        package var looks = 0
    }

    private let task: Task<Result, Never>

    /// Begins; `look` answers what it sees at the moment.
    package init(_ look: @escaping @Sendable () -> [Finding]) {
        task = Task.detached {
            var result = Result()
            repeat {
                result.findings.formUnion(look())
                result.looks += 1
                try? await Task.sleep(for: .milliseconds(1))
            } while !Task.isCancelled
            return result
        }
    }

    /// Stops, and tells everything that was seen.
    package func stop() async -> Result {
        task.cancel()
        return await task.value
    }
}
