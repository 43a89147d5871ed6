// SPDX-License-Identifier: MIT

import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file in a private directory that exists as long as this does.
final class TemporaryFile: Sendable {
    private let directory: String
    let path: String

    init(_ text: String) throws {
        var template = Array("/tmp/tokenagent-oauth-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        directory = try #require(made)
        path = directory + "/file"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let written = write(descriptor, bytes, bytes.count)
        try #require(written == bytes.count)
    }

    deinit {
        unlink(path)
        rmdir(directory)
    }
}
