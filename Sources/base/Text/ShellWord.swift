// SPDX-License-Identifier: MIT

/// Quoting of text in commands that users paste.
package enum ShellWord {
    /// Quotes `text` as one word of a shell, whatever it contains.
    package static func quoted(_ text: String) -> String {
        let inner = text.utf8.flatMap { byte in
            byte == UInt8(ascii: "'") ? Array("'\\''".utf8) : [byte]
        }
        return "'" + String(decoding: inner, as: UTF8.self) + "'"
    }
}
