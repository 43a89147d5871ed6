// SPDX-License-Identifier: MIT

import SecretMemory
import Testing
import TokenCore

@testable import SealedStore

/// Threads that open secrets while another one locks.
struct MemoryLockingTests {
    @Test func `a lock while secrets are opened never makes one look damaged`() async throws {
        let memory = try SealedMemory()
        let text = [UInt8](repeating: 7, count: 64)
        let rounds = 2_000
        async let failures = Task.detached {
            var failures: [SealedMemoryError] = []
            for _ in 0..<rounds {
                await Task.yield()
                do {
                    let id = try text.withUnsafeBytes { try memory.seal($0, as: .refreshToken) }
                    for _ in 0..<20 {
                        let opened = try memory.open(id) { Array($0) }
                        guard opened == text else { throw SealedMemoryError.damaged }
                    }
                } catch let error as SealedMemoryError {
                    if error != .locked && error != .noSuchSecret { failures.append(error) }
                    try memory.unlock()
                }
            }
            memory.lock()
            return failures
        }.value
        let locking = Task.detached {
            while !Task.isCancelled {
                memory.lock()
                await Task.yield()
            }
        }
        let wrong = try await failures
        #expect(wrong.isEmpty, "\(wrong.count) of \(rounds): \(wrong.prefix(1))")
        locking.cancel()
        await locking.value
        #expect(memory.isLocked)
    }

    @Test func `what is sealed while others lock and unlock opens, or is refused or gone`() async throws {
        let memory = try SealedMemory()
        let text = [UInt8](repeating: 7, count: 4_096)
        let locking = Task.detached {
            while !Task.isCancelled {
                memory.lock()
                try memory.unlock()
                await Task.yield()
            }
        }
        let opened = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var opened = 0
                    for _ in 0..<2_000 {
                        do {
                            let id = try text.withUnsafeBytes { try memory.seal($0, as: .accessToken) }
                            #expect(try memory.open(id) { Array($0) } == text)
                            opened += 1
                        } catch let error as SealedMemoryError where error != .damaged {}
                        await Task.yield()
                    }
                    return opened
                }
            }
            return try await group.reduce(0, +)
        }
        locking.cancel()
        try await locking.value
        #expect(opened > 0)
    }
}
