// SPDX-License-Identifier: MIT

import Text

/// The search for blocks by their comments, and by patterns of their lines if one comment is missing.
struct BlockSearch {
    /// The prefix of the first line of every block.
    static let first = "# >>> tokenctl setup "
    /// The prefix of the last line of every block.
    static let last = "# <<< tokenctl setup "

    /// A comment that begins or ends a block.
    private struct BoundaryComment {
        let index: Int
        let isFirst: Bool
        let name: ByteText

        var mark: BlockIdentifier { BlockIdentifier(parsing: name.text[...]) }
    }

    let lines: [String]
    /// The patterns of the lines of each block of this kind, without headers.
    let ours: [LinePattern]
    /// A predicate for lines, without surrounding blanks, that begin a section.
    let isHeader: (String) -> Bool
    /// Whether the header above the lines may be a user's, in which case the block has none.
    let mayShareHeader: Bool
    /// The line that ends the section of such a block, or `nil`.
    var closing: LinePattern?

    /// Returns all blocks from the top.
    func blocks() -> [FoundBlock] {
        let comments = lines.indices.compactMap(comment(at:))
        var found: [FoundBlock] = []
        // The first line that belongs to no block found so far.
        var floor = 0
        for (position, comment) in comments.enumerated() {
            let next = position + 1 < comments.count ? comments[position + 1] : nil
            if !comment.isFirst {
                let begun = position > 0 && comments[position - 1].isFirst ? comments[position - 1] : nil
                found.append(contentsOf: ended(by: comment, begunBy: begun, floor: floor))
            } else if next?.isFirst != false {
                found.append(begun(by: comment, below: next?.index ?? lines.count))
            }
            floor = comment.index + 1
        }
        return found
    }

    private func comment(at index: Int) -> BoundaryComment? {
        let line = TextBlock.withoutReturn(lines[index])
        let isFirst = line.bytewise.hasPrefix(BlockSearch.first.bytewise)
        guard isFirst || line.bytewise.hasPrefix(BlockSearch.last.bytewise) else { return nil }
        // Both prefixes have the same length.
        return BoundaryComment(
            index: index,
            isFirst: isFirst,
            name: line.dropFirst(BlockSearch.first.count).bytewise
        )
    }

    /// Returns the blocks that end with the comment `end`: one, or the remains of two if the comments between
    /// them are lost.
    private func ended(by end: BoundaryComment, begunBy begin: BoundaryComment?, floor: Int) -> [FoundBlock] {
        if let begin, begin.name == end.name {
            let inside = begin.index + 1..<end.index
            return [FoundBlock(mark: end.mark, range: begin.index...end.index, inside: inside)]
        }
        let inside = linesAbove(end, floor: floor)
        let block = FoundBlock(mark: end.mark, range: inside.lowerBound...end.index, inside: inside)
        return [begin.map { begun(by: $0, below: inside.lowerBound) }, block].compactMap(\.self)
    }

    /// Returns the block that starts at `begin` and has no end comment before the line at `ceiling`.
    private func begun(by begin: BoundaryComment, below ceiling: Int) -> FoundBlock {
        let inside = linesBelow(begin, ceiling: ceiling)
        let range = begin.index...inside.upperBound - 1
        return FoundBlock(mark: begin.mark, range: range, inside: inside)
    }

    /// Returns the lines of the block whose last comment is `end`; it includes a user's lines only within the
    /// block's own section.
    private func linesAbove(_ end: BoundaryComment, floor: Int) -> Range<Int> {
        let none = end.index..<end.index
        var rest = ours[...]
        var start = end.index
        var hasOthers = false
        while start > floor, let next = rest.last {
            let line = TextBlock.trimmed(lines[start - 1])
            if next.matches(line) {
                rest.removeLast()
            } else if SectionHeader(line) != nil || rest.count < ours.count && isHeader(line) {
                return none
            } else if !isHeader(line) {
                hasOthers = true
            }
            start -= 1
        }
        guard rest.isEmpty else { return none }
        guard start > floor, isHeader(TextBlock.trimmed(lines[start - 1])) else {
            return hasOthers ? none : start..<end.index
        }
        guard isHeader(at: start - 1, of: end) else { return none }
        // A header directly below a comment of ours does not belong to the user.
        let isOurs = !mayShareHeader || start - 1 == floor && floor > 0
        return (isOurs ? start - 1 : start)..<end.index
    }

    /// Returns the lines of the block whose first comment is `begin`; it includes a user's lines only within
    /// the block's own section.
    private func linesBelow(_ begin: BoundaryComment, ceiling: Int) -> Range<Int> {
        let start = begin.index + 1
        let none = start..<start
        var rest = ours[...]
        var end = start
        let hasHeader = start < ceiling && isHeader(at: start, of: begin)
        if hasHeader { end += 1 }
        while end < ceiling, let next = rest.first {
            let line = TextBlock.trimmed(lines[end])
            if next.matches(line) {
                rest.removeFirst()
            } else if !hasHeader || isHeader(line) {
                return none
            }
            end += 1
        }
        guard rest.isEmpty else { return none }
        if end < ceiling, closing?.matches(TextBlock.trimmed(lines[end])) == true { end += 1 }
        return start..<end
    }

    /// Returns whether the line begins a section that contains the name in the mark of `comment`.
    private func isHeader(at index: Int, of comment: BoundaryComment) -> Bool {
        let line = TextBlock.trimmed(lines[index])
        guard isHeader(line) else { return false }
        return comment.mark.name.map { line.bytewise.contains($0.bytewise) } ?? true
    }
}
