// SPDX-License-Identifier: MIT

import SecretMemory
import Text
import TokenCore

/// A JSON object as a request body, whose bytes are wiped on deallocation.
///
/// One owner builds the body. After that it is only read.
final class JSONRequestBody: Sendable {
    let contentType: String
    private let buffer = WipingBuffer()

    /// Creates the body with the members that the closure `members` adds.
    init<Failure: Error>(
        contentType: String = "application/json",
        _ members: (MemberWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.contentType = contentType
        try MemberWriter.object(in: buffer, members)
    }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe buffer.withBytes(body)
    }

    /// A writer of the members of one object, in order.
    ///
    /// The type is copyable only because the optimizer of Swift 6.3 crashes when it inlines code that lends a
    /// noncopyable value.
    struct MemberWriter {
        private let buffer: WipingBuffer
        private let start: Int

        fileprivate static func object<Failure: Error>(
            in buffer: WipingBuffer,
            _ members: (MemberWriter) throws(Failure) -> Void
        ) throws(Failure) {
            buffer.append(UInt8(ascii: "{"))
            try members(MemberWriter(buffer: buffer, start: buffer.count))
            buffer.append(UInt8(ascii: "}"))
        }

        func add(_ name: String, _ value: String) {
            begin(name)
            append(value.utf8)
        }

        /// Adds a member with a number or a keyword, given as JSON text.
        func add(_ name: String, literal: String) {
            begin(name)
            for byte in literal.utf8 { buffer.append(byte) }
        }

        /// Adds a member with an array of strings.
        func add(_ name: String, _ values: [String]) {
            begin(name)
            for (number, value) in values.enumerated() {
                buffer.append(UInt8(ascii: number == 0 ? "[" : ","))
                append(value.utf8)
            }
            if values.isEmpty { buffer.append(UInt8(ascii: "[")) }
            buffer.append(UInt8(ascii: "]"))
        }

        /// Adds a member with a secret string, without making another copy of it in memory.
        func add(_ name: String, secret value: UnsafeRawBufferPointer) {
            begin(name)
            unsafe append(value)
        }

        /// Adds a member with a string from sealed memory.
        func add(_ name: String, _ secret: SecretID, from memory: SealedMemory) throws(RefreshFailure) {
            do {
                try unsafe memory.open(secret) { unsafe add(name, secret: $0) }
            } catch {
                throw .locked
            }
        }

        /// Adds a member whose JSON text is in sealed memory.
        func add(_ name: String, json: SecretID, from memory: SealedMemory) throws(RefreshFailure) {
            begin(name)
            do {
                try unsafe memory.open(json) { bytes in
                    for index in 0..<bytes.count { unsafe buffer.append(bytes[index]) }
                }
            } catch {
                throw .locked
            }
        }

        /// Adds a member with an object.
        func add(
            _ name: String,
            _ members: (MemberWriter) throws(RefreshFailure) -> Void
        ) throws(RefreshFailure) {
            begin(name)
            try MemberWriter.object(in: buffer, members)
        }

        private func begin(_ name: String) {
            if buffer.count > start { buffer.append(UInt8(ascii: ",")) }
            append(name.utf8)
            buffer.append(UInt8(ascii: ":"))
        }

        private func append(_ utf8: some Sequence<UInt8>) {
            JSONStringWriter.write(utf8) { buffer.append($0) }
        }
    }
}
