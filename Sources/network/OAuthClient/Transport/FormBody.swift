// SPDX-License-Identifier: MIT

import Text

/// An `application/x-www-form-urlencoded` body whose bytes are wiped on deallocation.
///
/// One owner builds the body. After that it is only read.
final class FormBody: Sendable {
    private let buffer = WipingBuffer()

    init() {}

    /// Creates a form with the parameters of `other`, to which more can be added.
    convenience init(copying other: FormBody) {
        self.init()
        unsafe other.withBytes { bytes in
            for index in 0..<bytes.count { buffer.append(unsafe bytes[index]) }
        }
    }

    convenience init(_ parameters: [(name: String, value: String)]) {
        self.init()
        for (name, value) in parameters { add(name, value) }
    }

    func add(_ name: String, _ value: String) {
        var value = value
        value.withUTF8 { bytes in unsafe add(name, secret: UnsafeRawBufferPointer(bytes)) }
    }

    func add(_ parameters: [String: String]) {
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) { add(name, value) }
    }

    /// Adds a parameter whose value exists nowhere else in the clear.
    func add(_ name: String, secret value: UnsafeRawBufferPointer) {
        if buffer.count > 0 { buffer.append(UInt8(ascii: "&")) }
        appendEncoded(name.utf8)
        buffer.append(UInt8(ascii: "="))
        unsafe appendEncoded(value)
    }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe buffer.withBytes(body)
    }

    private func appendEncoded(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { FormEncoding.encode(byte) { buffer.append($0) } }
    }
}
