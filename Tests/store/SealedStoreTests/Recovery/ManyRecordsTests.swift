// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Threads
import TokenCore

@testable import SealedStore

/// Stores so large that their records are examined on two threads.
struct ManyRecordsTests {
    let fixture = StoreFixture()

    @Test func `of many records every one comes back, and a damaged one costs one session`() throws {
        let names = (0..<300).map { SessionName.named("s\($0)") }
        let (first, _) = try fixture.unlocked()
        for name in names { try first.commitDurably("RT of \(name)", to: name) }
        first.store.close()
        let damaged = try #require(fixture.records().first)
        Disk.write([UInt8](repeating: 1, count: 8192), to: damaged)

        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.map(\.kind) == [.unreadable])
        #expect(loaded.sessions.count == names.count - 1)
        #expect(Set(loaded.sessions.map(\.name)).isSubset(of: names))
        for session in loaded.sessions {
            #expect(try second.refreshToken(of: session.snapshot) == "RT of \(session.name)")
        }
    }

    @Test func `a value is computed on each of two threads`() {
        let values = ParallelComputation.both({ pthread_self() }, { pthread_self() })
        #expect(values.0 != values.1)
    }
}
