// SPDX-License-Identifier: MIT

/// A growing run of bytes that leaves nothing behind: what it outgrows and what it held is wiped.
///
/// Built by one owner, then only read.
@safe
final class WipingBuffer: @unchecked Sendable {
    private var storage: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init() {
        unsafe storage = .allocate(byteCount: 1_024, alignment: 16)
    }

    deinit {
        unsafe Wiping.wipe(storage)
        unsafe storage.deallocate()
    }

    func append(_ byte: UInt8) {
        if unsafe count == storage.count { grow() }
        unsafe storage[count] = byte
        count += 1
    }

    /// Lends the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: storage[..<count]))
    }

    private func grow() {
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: 2 * storage.count,
            alignment: 16
        )
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(storage))
        unsafe Wiping.wipe(storage)
        unsafe storage.deallocate()
        unsafe storage = larger
    }
}
