// SPDX-License-Identifier: MIT

/// Suggestions for misspelled words.
package enum WordSuggestion {
    /// Returns the word in `words` that `text` most likely means, or `nil` if none or several are close.
    ///
    /// Two letters may be wrong, or a third of those of the longer word. Two exchanged ones count as one.
    package static func nearest(to text: String, among words: [String]) -> String? {
        let letters = Array(text.utf8)
        // Two letters are too many in short words, and no word of ours is as long as a long text.
        guard (3...64).contains(letters.count) else { return nil }
        let ranked = words.map { (word: $0, distance: distance(letters, Array($0.utf8))) }
            .filter {
                let length = $0.word.utf8.count
                return $0.distance <= max(2, max(letters.count, length) / 3) && $0.distance < length - 1
            }
        guard let least = ranked.map(\.distance).min() else { return nil }
        let nearest = Set(ranked.filter { $0.distance == least }.map(\.word))
        return nearest.count == 1 ? nearest.first : nil
    }

    /// Returns the end of a message about `text`: "; did you mean WORD?", or nothing.
    package static func question(about text: String, among words: [String]) -> String {
        nearest(to: text, among: words).map { "; did you mean \($0)?" } ?? ""
    }

    /// Returns the number of letters that are missing, added, wrong or exchanged with the next one (optimal
    /// string alignment distance).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var (above, row) = ([Int](), Array(0...right.count))
        for (line, letter) in left.enumerated() {
            var next = [line + 1]
            for (column, other) in right.enumerated() {
                var least = min(
                    row[column] + (letter == other ? 0 : 1),
                    row[column + 1] + 1,
                    next[column] + 1
                )
                if line > 0, column > 0, letter == right[column - 1], left[line - 1] == other {
                    least = min(least, above[column - 1] + 1)
                }
                next.append(least)
            }
            (above, row) = (row, next)
        }
        return row[right.count]
    }
}
