// SPDX-License-Identifier: MIT

import AgentProtocol
import Crypto
import Text
import TokenCore

/// One `[[proxy]]` or `[[endpoint]]`: an address at which another program serves a session's tokens.
package struct ListenerSettings: Equatable, Sendable {
    package var session: SessionName
    /// What the program that listens is handed.
    package var message: ListenerMessage

    /// Unique among all of them.
    package var name: String { message.name ?? "" }

    /// Tells the table from any other one: SHA-256 of ``AgentProtocol/WireMessage/identity``, in hexadecimal digits.
    package var digest: String { Hex.encoded(SHA256.hash(data: message.identity)) }

    /// The table's name, for people.
    package var title: String {
        "[[\(message.kind == .proxy ? "proxy" : "endpoint")]] \(name)"
    }

    /// The message with the content of `ca_file` in it, for a process that opens no files.
    ///
    /// - Throws: ``ConfigurationProblem``, whose key stands in this table, if the file cannot be read.
    package func filled() throws(ConfigurationProblem) -> ListenerMessage {
        guard let path = message.authorityFile else { return message }
        var message = message
        do throws(FileRefusal) {
            let file = try OpenedFile(path)
            guard file.size <= ConfigurationFile.largestSize else {
                throw FileRefusal(message: "is larger than 4 MiB")
            }
            let text = String(decoding: try file.contents(), as: UTF8.self)
            guard text.bytewise.contains("-----BEGIN CERTIFICATE-----") else {
                throw FileRefusal(message: "holds no PEM certificate")
            }
            message.authorities = text
        } catch {
            throw ConfigurationProblem(key: "ca_file", message: "\(path) \(error.message)")
        }
        return message
    }
}
