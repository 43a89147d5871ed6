// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

/// Threads that open secrets while another one locks.
struct VaultLockingTests {
    @Test func `a lock while secrets are opened never makes one look damaged`() async throws {
        let vault = try Vault()
        let text = [UInt8](repeating: 7, count: 64)
        let rounds = 2_000
        async let failures = Task.detached {
            var failures: [VaultError] = []
            for _ in 0..<rounds {
                await Task.yield()
                do {
                    let id = try text.withUnsafeBytes { try vault.seal($0, as: .refreshToken) }
                    for _ in 0..<20 {
                        let opened = try vault.open(id) { Array($0) }
                        guard opened == text else { throw VaultError.damaged }
                    }
                } catch let error as VaultError {
                    if error != .locked && error != .noSuchSecret { failures.append(error) }
                    try vault.unlock()
                }
            }
            vault.lock()
            return failures
        }.value
        let locking = Task.detached {
            while !Task.isCancelled {
                vault.lock()
                await Task.yield()
            }
        }
        let wrong = try await failures
        #expect(wrong.isEmpty, "\(wrong.count) of \(rounds): \(wrong.prefix(1))")
        locking.cancel()
        await locking.value
        #expect(vault.isLocked)
    }
}
