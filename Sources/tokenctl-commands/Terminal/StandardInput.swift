// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// Standard input, read for a secret that is piped in.
enum StandardInput {
    /// All of standard input without the line feed at its end; at a terminal one line, unseen.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if it is empty, too long or not one line of text.
    static func secret(_ kind: String) throws(AgentError) -> Secret {
        if let typed = try typed(kind) { return try Secret(typed, of: kind) }
        var bytes = try secretBytes()
        bytes.removeLineEnd()
        return try Secret(bytes, of: kind)
    }

    /// What is typed at the terminal that is the standard input, or `nil` if it is none.
    ///
    /// The terminal's driver would cut a line that is read as from a file.
    private static func typed(
        _ kind: String,
        until isWhole: ([UInt8]) -> Bool = { _ in true }
    ) throws(AgentError) -> [UInt8]? {
        guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return nil }
        let prompt = kind.prefix(1).uppercased() + kind.dropFirst() + ": "
        return try terminal.ask(prompt, echo: false, until: isWhole) ?? []
    }

    /// A refresh token, or the saved answer of a login, which is JSON and may have been laid out in lines.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` as ``secret(_:)``.
    static func refreshToken() throws(AgentError) -> Secret {
        let answer = try typed("refresh token") { lines in
            !isJSON(lines) || (try? JSONValue(parsing: lines)) != nil
        }
        var bytes = if let answer { answer } else { try secretBytes() }
        guard isJSON(bytes) else {
            bytes.removeLineEnd()
            return try Secret(bytes, of: "refresh token")
        }
        // Between values a line end is as good as a blank, and inside a string it is no JSON.
        for index in bytes.indices where isBlank(bytes[index]) { bytes[index] = UInt8(ascii: " ") }
        return try Secret(bytes, of: "saved answer")
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { !isBlank($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// A blank of JSON (RFC 8259 §2).
    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// All of standard input, as far as a secret goes and a little further.
    private static func secretBytes() throws(AgentError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Secret.longest + 4096)
        while bytes.count <= Secret.longest, try append(to: &bytes, upTo: 4096) > 0 {}
        return bytes
    }

    /// All of standard input, from a program that tells us what it wants.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if that is more than 1 MiB.
    static func all() throws(AgentError) -> [UInt8] {
        var bytes: [UInt8] = []
        while try append(to: &bytes, upTo: 4096) > 0 {
            guard bytes.count <= 1 << 20 else { throw AgentError(.badRequest, "the input is too long") }
        }
        return bytes
    }

    /// One line without its line feed, byte by byte, so that the next line stays for the next question.
    static func line() throws(AgentError) -> [UInt8]? {
        var bytes: [UInt8] = []
        while try append(to: &bytes, upTo: 1) > 0 {
            guard bytes.last != 0x0A else {
                bytes.removeLineEnd()
                return bytes
            }
            guard bytes.count <= Secret.longest else { throw AgentError(.badRequest, "the line is too long") }
        }
        return bytes.isEmpty ? nil : bytes
    }

    private static func append(to bytes: inout [UInt8], upTo limit: Int) throws(AgentError) -> Int {
        let (count, error) = unsafe withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            let count = unsafe read(STDIN_FILENO, buffer.baseAddress, limit)
            let error = errno
            if count > 0 { unsafe bytes.append(contentsOf: buffer[..<count]) }
            if let start = buffer.baseAddress { unsafe explicit_bzero(start, limit) }
            return (count, error)
        }
        guard count >= 0 else { throw AgentError(.internal, "standard input: \(systemMessage(error))") }
        return count
    }
}
