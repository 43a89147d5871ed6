// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// Standard input, from which secrets and requests are read.
enum StandardInput {
    /// Reads all of standard input without the final line feed, or one hidden line at a terminal.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the input is empty, too long or not one line
    ///   of text.
    static func secret(_ kind: String) throws(AgentError) -> Secret {
        if let typed = try typed(kind) { return try Secret(typed, of: kind) }
        var bytes = try secretBytes()
        bytes.removeLineEnd()
        return try Secret(bytes, of: kind)
    }

    /// Prompts at the terminal if standard input is one.
    ///
    /// The terminal's driver would truncate a long line read like a file.
    ///
    /// - Returns: The input, or `nil` if standard input is not a terminal.
    private static func typed(
        _ kind: String,
        until isWhole: ([UInt8]) -> Bool = { _ in true }
    ) throws(AgentError) -> [UInt8]? {
        guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return nil }
        let prompt = kind.prefix(1).uppercased() + kind.dropFirst() + ": "
        return try terminal.ask(prompt, echo: false, until: isWhole) ?? []
    }

    /// Reads a refresh token, or a saved login response, which is JSON and may have several lines.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the input is empty, too long or not valid
    ///   text.
    static func refreshToken() throws(AgentError) -> Secret {
        let answer = try typed("refresh token") { lines in
            !isJSON(lines) || (try? JSONValue(parsing: lines)) != nil
        }
        var bytes = if let answer { answer } else { try secretBytes() }
        guard isJSON(bytes) else {
            bytes.removeLineEnd()
            return try Secret(bytes, of: "refresh token")
        }
        // Between JSON values a line end is equivalent to a blank; inside a string it is invalid JSON.
        for index in bytes.indices where isBlank(bytes[index]) { bytes[index] = UInt8(ascii: " ") }
        return try Secret(bytes, of: "saved response")
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { !isBlank($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Returns whether `byte` is whitespace in JSON (RFC 8259 §2).
    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// Reads standard input to slightly more than the maximum size of a secret.
    private static func secretBytes() throws(AgentError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Secret.longest + 4096)
        while bytes.count <= Secret.longest, try append(to: &bytes, upTo: 4096) > 0 {}
        return bytes
    }

    /// Reads all of standard input, for the request of another program.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the input is larger than 1 MiB.
    static func all() throws(AgentError) -> [UInt8] {
        var bytes: [UInt8] = []
        while try append(to: &bytes, upTo: 4096) > 0 {
            guard bytes.count <= 1 << 20 else { throw AgentError(.badRequest, "the input is too long") }
        }
        return bytes
    }

    /// Reads one line without its line feed, or returns `nil` at the end of the input.
    ///
    /// It reads byte by byte, so that the next line remains for the next prompt.
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
        guard count >= 0 else {
            throw AgentError(.internal, "cannot read standard input: \(systemMessage(error))")
        }
        return count
    }
}
