// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Polling for an effect of another process.
package enum Polling {
    /// Polls every few milliseconds until `condition` holds.
    ///
    /// - Returns: `false` if that took longer than `limit`.
    package static func until(
        within limit: Duration = .seconds(120),
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        try await value(within: limit) { try await condition() ? true : nil } ?? false
    }

    /// Polls every few milliseconds until there is a value.
    ///
    /// - Returns: the value, or `nil` if that took longer than `limit`.
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

/// A repeated observation while a test does its work.
package final class Watch<Finding: Hashable & Sendable>: Sendable {
    package struct Result: Sendable {
        package var findings: Set<Finding> = []
        /// The number of observations.
        package var looks = 0
    }

    /// A separate thread, because the threads of the tests may be busy for long.
    private let queue = DispatchQueue(label: "watch")
    private let end = DispatchSemaphore(value: 0)
    private let result = Mutex(Result())

    /// Starts observing.
    ///
    /// `look` returns the current findings.
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

    /// Stops, and returns all findings.
    package func stop() async -> Result {
        end.signal()
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
        return result.withLock { $0 }
    }
}
