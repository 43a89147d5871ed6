// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import TestSupport
import Testing

@testable import SealedStore

@Suite struct GuardedBytesTests {
    @Test(.holds("32")) func `a byte past a key ends the process`() async {
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            let key = try GuardedBytes(count: 32)
            key.write { $0.baseAddress?.storeBytes(of: 1, toByteOffset: 32, as: UInt8.self) }
        }
    }

    @Test(.holds("32")) func `a byte before a key is noticed at the latest when the key goes`() async {
        await #expect(processExitsWith: .failure) {
            let key = try GuardedBytes(count: 32)
            // Any fixed value may be the one that is there.
            key.write { bytes in
                guard let start = bytes.baseAddress else { return }
                let other = ~start.load(fromByteOffset: -1, as: UInt8.self)
                start.storeBytes(of: other, toByteOffset: -1, as: UInt8.self)
            }
        }
    }

    @Test(.holds("32")) func `a key itself may be written and read`() throws {
        let key = try GuardedBytes(count: 32)
        key.randomize()
        #expect(key.read { Set($0).count } > 1)
        key.write { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) }
        #expect(key.read { Set($0) } == [0])
    }
}
