// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A file that only this program writes, next to our own configuration.
struct OwnFile: SetupChange {
    let path: String
    let text: String
    /// The text that identifies such a file.
    let sign: String

    var shown: [String] {
        [path + ":"] + text.split(separator: "\n").map { "    " + $0 }
    }

    func isMade() throws(AgentError) -> Bool {
        guard let present = try EditedFile(path).text else { return false }
        guard present.bytewise.contains(sign.bytewise) else {
            throw AgentError(.badRequest, "\(path) already exists", remedy: .set("--file to another path"))
        }
        return present.bytewise == text.bytewise
    }

    func replaced() throws(AgentError) -> [String] {
        let file = try EditedFile(path)
        return isOurs(file) ? (file.text ?? "").split(separator: "\n").map(String.init) : []
    }

    @discardableResult
    func make() throws(AgentError) -> Restoring {
        if try isMade() { return {} }
        return try EditedFile(path).replace(with: text)
    }

    func remnant() throws(AgentError) -> [String] { isOurs(try EditedFile(path)) ? [path] : [] }

    func undo() throws(AgentError) {
        let file = try EditedFile(path)
        guard isOurs(file) else { return }
        try file.replace(with: "")
    }

    private func isOurs(_ file: EditedFile) -> Bool { file.text?.bytewise.contains(sign.bytewise) == true }
}
