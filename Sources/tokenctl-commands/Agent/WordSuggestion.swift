// SPDX-License-Identifier: MIT

/// Suggestions for misspelled words.
enum WordSuggestion {
    /// The maximum number of wrong letters: two, as for two exchanged letters.
    private static let maximumDistance = 2

    /// Returns the word in `words` that `text` most likely means, or `nil` if none or several are close.
    static func nearest(to text: String, among words: [String]) -> String? {
        let letters = Array(text.utf8)
        // Two letters are too many in short words, and no word of ours is as long as a long text.
        guard (3...32).contains(letters.count) else { return nil }
        let ranked = words.map { (word: $0, distance: distance(letters, Array($0.utf8))) }
            .filter { $0.distance <= maximumDistance && $0.distance < $0.word.utf8.count - 1 }
        guard let least = ranked.map(\.distance).min() else { return nil }
        let nearest = ranked.filter { $0.distance == least }
        return nearest.count == 1 ? nearest[0].word : nil
    }

    /// Returns the number of letters that are missing, added or wrong (Levenshtein distance).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (line, letter) in left.enumerated() {
            var corner = row[0]
            row[0] = line + 1
            for (column, other) in right.enumerated() {
                let changed = corner + (letter == other ? 0 : 1)
                corner = row[column + 1]
                row[column + 1] = min(changed, corner + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
