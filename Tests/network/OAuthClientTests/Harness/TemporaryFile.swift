// SPDX-License-Identifier: MIT

import Glibc
import TestSupport

/// A file in a private directory that exists as long as this does.
final class TemporaryFile: Sendable {
    private let directory: TemporaryDirectory
    let path: String

    init(_ text: String, mode: mode_t = 0o600) throws {
        directory = try TemporaryDirectory()
        path = try directory.write(text, to: "file", mode: mode)
    }
}
