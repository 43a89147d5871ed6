// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A line of shell whose command prints a remedy, and the line with which a user follows it.
struct CorrectedLine: Sendable {
    let line: String
    /// The remedy with its label, or its beginning.
    let remedy: String
    /// The line that follows the remedy, in which `REMEDY` stands for the printed command.
    let followed: String
    /// The exit status of the line that follows the remedy.
    var then: Int32 = 0
}

extension Scene {
    /// Runs each line in the agent's home, follows the remedy that it prints, and expects that the remedy is not
    /// printed again.
    ///
    /// In the lines, `ISSUER` stands for the issuer, and each key of `words` for its value.
    func follow(_ rows: [CorrectedLine], _ words: [String: String] = [:]) async throws {
        let words = words.merging(["ISSUER": issuer.issuer]) { $1 }
        func filled(_ text: String) -> String {
            words.reduce(text) { $0.replacing($1.key, with: $1.value) }
        }
        for row in rows {
            let before = try await paste(filled(row.line))
            let remedy = filled(row.remedy)
            let end = try #require(remedy.ranges(of: ": ").first)
            let text = remedy[end.upperBound...]
            let printed = PrintedRemedy(before, holding: String(text))
            guard let printed, printed.text.hasPrefix(text),
                printed.label == remedy[..<end.lowerBound].lowercased()
            else {
                Issue.record("\(row.line): \(before) \(agent.log)")
                continue
            }
            let line = filled(row.followed).replacing("REMEDY", with: printed.command ?? "")
            let after = try await paste(line)
            #expect(after.status == row.then, "\(row.line): \(before) \(line): \(after) \(agent.log)")
            let isRepeated = PrintedRemedy(after, holding: printed.text)?.label == printed.label
            #expect(!isRepeated, "\(line): \(after)")
        }
    }
}
