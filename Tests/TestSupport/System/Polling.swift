// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Waiting for something another process does.
package enum Polling {
    /// Asks every few milliseconds until `condition` holds; `false` when that took longer than `limit`.
    package static func until(
        within limit: Duration = .seconds(120),
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        try await value(within: limit) { try await condition() ? true : nil } ?? false
    }

    /// Asks every few milliseconds until there is a value; `nil` when that took longer than `limit`.
    package static func value<Value>(
        within limit: Duration = .seconds(120),
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

    /// A thread of its own: those of the tests may be busy for long.
    private let queue = DispatchQueue(label: "watch")
    private let end = DispatchSemaphore(value: 0)
    private let result = Mutex(Result())

    /// Begins; `look` answers what it sees at the moment.
    package init(_ look: @escaping @Sendable () -> [Finding]) {
        queue.async { [self] in
            repeat {
                let findings = look()
                result.withLock {
                    $0.findings.formUnion(findings)
                    $0.looks += 1
                }
            } while end.wait(timeout: .now() + .milliseconds(1)) == .timedOut
        }
    }

    /// Stops, and tells everything that was seen.
    package func stop() async -> Result {
        end.signal()
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
        return result.withLock { $0 }
    }
}
