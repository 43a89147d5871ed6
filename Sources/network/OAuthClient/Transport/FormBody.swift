// SPDX-License-Identifier: MIT

import SecretMemory
import Synchronization
import Text
import TokenCore

/// The parameters of a request, usually sent as `application/x-www-form-urlencoded`, whose values are wiped on
/// deallocation.
///
/// One owner adds the parameters. After that they are only read.
final class FormBody: Sendable {
    private let values = WipingBuffer()
    /// The names, each with the end of its value in ``values``.
    private let parameters = Mutex<[(name: String, end: Int)]>([])

    init() {}

    /// Creates a form with the parameters of `other`, to which more can be added.
    convenience init(copying other: FormBody) {
        self.init()
        unsafe other.withParameters { unsafe add($0, secret: $1) }
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
        for index in 0..<value.count { values.append(unsafe value[index]) }
        parameters.withLock { $0.append((name, values.count)) }
    }

    /// Adds a parameter with a text from sealed memory.
    ///
    /// - Throws: `busy` while sealed memory is locked.
    func add(_ name: String, _ secret: SecretID, from memory: SealedMemory) throws(RefreshFailure) {
        do {
            try unsafe memory.open(secret) { unsafe add(name, secret: $0) }
        } catch {
            throw .locked
        }
    }

    /// Calls `body` with the encoded form.
    ///
    /// `names` are other names of parameters, by the present ones.
    func withBytes<Result>(
        names: [String: String] = [:],
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let encoded = WipingBuffer()
        unsafe withParameters { name, value in
            if encoded.count > 0 { encoded.append(UInt8(ascii: "&")) }
            for byte in (names[name] ?? name).utf8 { FormEncoding.encode(byte) { encoded.append($0) } }
            encoded.append(UInt8(ascii: "="))
            for index in 0..<value.count {
                FormEncoding.encode(unsafe value[index]) { encoded.append($0) }
            }
        }
        return try unsafe encoded.withBytes(body)
    }

    /// Returns the parameters as strings in a JSON object.
    ///
    /// `names` are other names of parameters, by the present ones.
    func json(names: [String: String]) -> JSONRequestBody {
        JSONRequestBody { members in
            unsafe withParameters { unsafe members.add(names[$0] ?? $0, secret: $1) }
        }
    }

    private func withParameters(_ body: (_ name: String, _ value: UnsafeRawBufferPointer) -> Void) {
        let parameters = parameters.withLock { $0 }
        unsafe values.withBytes { bytes in
            var start = 0
            for (name, end) in parameters {
                unsafe body(name, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }
}
