// SPDX-License-Identifier: MIT

import ServerSettings
import Text

/// How a recorded answer can be read, and what it answers: sealed at the beginning of its file.
///
/// Two lines: the address that was asked, and the line of the key log.
struct RecordingNote: Equatable {
    var url: String
    var key: [UInt8]

    init(url: EndpointURL, key: [UInt8]) {
        self.url = url.description
        self.key = key
    }

    var bytes: [UInt8] { Array(url.utf8) + [UInt8(ascii: "\n")] + key }

    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        url = String(decoding: bytes[..<end], as: UTF8.self)
        key = Array(bytes[(end + 1)...])
    }
}
