// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// An example of the README or of a man page, as a reader sees it.
struct DocumentedExample: Sendable, CustomTestStringConvertible {
    /// The file and the line where it begins.
    var place: String
    var text: String

    var testDescription: String { "\(place) \(text.split(separator: "\n").first ?? "")" }

    /// The commands of the example, without their prompts and their output.
    ///
    /// If the example contains no prompt, this is the whole text.
    var commands: String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.contains(where: { $0.hasPrefix("$ ") }) else { return text }
        var commands: [String] = []
        var continues = false
        for line in lines where continues || line.hasPrefix("$ ") {
            commands.append(continues ? line : String(line.dropFirst(2)))
            continues = ["\\", "|", "&&"].contains(where: line.hasSuffix)
        }
        return commands.joined(separator: "\n")
    }

    /// All examples.
    static let all: [DocumentedExample] = {
        let pages = [
            "tokenctl.1", "tokenagent.1", "tokenagent.conf.5", "tokenagent-clients.7",
            "tokenagent-fleet.7", "tokenagent-protocol.7", "tokenagent-tutorial.7",
        ]
        return pages.flatMap { manPage($0) } + readme()
    }()

    /// The examples to run.
    ///
    /// Those of 52 other programs are run only in a full run.
    static let tried =
        TestEnvironment.isFull ? all : all.filter { !$0.place.hasPrefix("tokenagent-clients.7") }

    /// The blocks `.Bd -literal` and the lines `.Dl` (mdoc(7)).
    private static func manPage(_ name: String) -> [DocumentedExample] {
        var found: [DocumentedExample] = []
        var block: (start: Int, lines: [String])?
        for (number, line) in lines(of: "man/\(name)") {
            if line.hasPrefix(".Bd -literal") {
                block = (number, [])
            } else if let ended = block, line == ".Ed" {
                let text = ended.lines.map(unescaped).joined(separator: "\n")
                found.append(DocumentedExample(place: "\(name):\(ended.start)", text: text))
                block = nil
            } else if block != nil {
                block?.lines.append(line)
            } else if line.hasPrefix(".Dl ") {
                found.append(
                    DocumentedExample(place: "\(name):\(number)", text: unescaped(String(line.dropFirst(4))))
                )
            }
        }
        return found
    }

    /// Returns the fenced code blocks of the README (CommonMark §4.5) and the commands in its tables.
    private static func readme() -> [DocumentedExample] {
        var found: [DocumentedExample] = []
        var block: (start: Int, lines: [String])?
        for (number, line) in lines(of: "README.md") {
            if line.hasPrefix("```") {
                if let ended = block {
                    let text = ended.lines.joined(separator: "\n")
                    found.append(DocumentedExample(place: "README.md:\(ended.start)", text: text))
                }
                block = block == nil ? (number, []) : nil
            } else if let command = commandInTable(line) {
                found.append(DocumentedExample(place: "README.md:\(number)", text: command))
            } else {
                block?.lines.append(line)
            }
        }
        return found
    }

    /// The code in the last cell of a row of a table, if there is nothing else in it.
    private static func commandInTable(_ line: String) -> String? {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        guard line.hasPrefix("| "), parts.count == 3, parts[0].hasSuffix(" | "), parts[2] == " |" else {
            return nil
        }
        return String(parts[1])
    }

    private static func lines(of path: String) -> [(Int, String)] {
        let text = File.text("\(BuiltPrograms.checkout)/\(path)") ?? ""
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return Array(zip(1..., lines))
    }

    /// groff's escapes as the reader sees them (groff_char(7)).
    private static func unescaped(_ line: String) -> String {
        let escapes = [
            ("\\(dq", "\""), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\-", "-"),
            ("\\&", ""),
            ("\\e", "\\"),
        ]
        return escapes.reduce(line) { $0.replacing($1.0, with: $1.1) }
    }
}
