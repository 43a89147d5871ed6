// SPDX-License-Identifier: MIT

import Text

/// One block of a PEM text (RFC 7468 §2): the label in its first line, and the content between the lines.
struct PEMBlock: Equatable, Sendable {
    /// The label, such as `RSA PRIVATE KEY`.
    let label: String
    /// The lines between the markers: base64, in old files after header lines (RFC 1421 §4.4).
    private let lines: [Substring]

    /// Returns all blocks of `text` in their order, ignoring the text around them.
    static func all(in text: String) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var open: (label: String, lines: [Substring])?
        for line in text.bytewise.split(on: "\n").map(\.withoutBlanksAround) {
            if let label = label(of: line, after: "-----BEGIN ") {
                open = (label, [])
            } else if let label = label(of: line, after: "-----END ") {
                if let block = open, block.label.bytewise == label.bytewise {
                    blocks.append(PEMBlock(label: block.label, lines: block.lines))
                }
                open = nil
            } else {
                open?.lines.append(line)
            }
        }
        return blocks
    }

    /// Returns the first private key of `text`.
    ///
    /// - Throws: The reason there is no usable private key.
    static func privateKey(in text: String) throws(SigningKey.Problem) -> PEMBlock {
        let blocks = all(in: text)
        guard let block = blocks.first(where: { $0.label.bytewise.hasSuffix("PRIVATE KEY") }) else {
            throw .noKey(instead: blocks.first?.label)
        }
        guard !block.isEncrypted else { throw .encrypted }
        return block
    }

    private static func label(of line: Substring, after start: ByteText) -> String? {
        guard line.bytewise.hasPrefix(start) else { return nil }
        return line.dropFirst(start.utf8.count).bytewise.split(on: "-").first.map(String.init)
    }

    /// Whether the key requires a passphrase (RFC 5958 §3, RFC 1421 §4.6.1.1).
    var isEncrypted: Bool {
        label.bytewise.hasPrefix("ENCRYPTED ")
            || lines.contains { $0.bytewise.hasPrefix("Proc-Type:") && $0.bytewise.hasSuffix("ENCRYPTED") }
    }

    /// The decoded bytes, or `nil` if the content is not base64.
    var bytes: [UInt8]? { Base64.decoded(lines.joined()) }

    /// Returns `bytes` as a text with one block, for libraries that read only this format.
    static func text(_ label: String, _ bytes: [UInt8]) -> String {
        let digits = Array(Base64.encoded(bytes).utf8)
        // Every line except the last has exactly 64 characters (RFC 7468 §2).
        let lines = stride(from: 0, to: digits.count, by: 64)
            .map { String(decoding: digits[$0..<min($0 + 64, digits.count)], as: UTF8.self) }
        return (["-----BEGIN \(label)-----"] + lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
    }
}

extension Substring {
    fileprivate var withoutBlanksAround: Substring {
        func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }
        let start = utf8.drop(while: isBlank)
        return Substring(start.prefix(start.count - start.reversed().prefix(while: isBlank).count))
    }
}
