// SPDX-License-Identifier: MIT

/// A guess at the intended spelling of a misspelled word.
enum SpellingSuggestion {
    /// Returns the candidate with the fewest edits to `word`, or `nil` if more than a third of the longer
    /// word's letters differ.
    static func to(_ word: String, among candidates: [String]) -> String? {
        let letters = Array(word.prefix(64))
        let nearest = candidates.map { (edits(letters, Array($0)), $0) }.min { $0 < $1 }
        guard let (distance, candidate) = nearest, distance * 3 <= max(letters.count, candidate.count) else {
            return nil
        }
        return candidate
    }

    /// Returns the Levenshtein distance.
    private static func edits(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
