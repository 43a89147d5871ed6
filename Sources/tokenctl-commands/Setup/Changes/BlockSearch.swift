// SPDX-License-Identifier: MIT

import Text

/// Finds blocks by their comments, and what belongs to a single one by how the lines of such a block look.
struct BlockSearch {
    /// How the first line of every block begins.
    static let first = "# >>> tokenctl setup "
    /// How the last line of every block begins.
    static let last = "# <<< tokenctl setup "

    /// A line that begins or ends a block.
    private struct Comment {
        let index: Int
        let isFirst: Bool
        let name: ByteText

        var mark: BlockMark { BlockMark(parsing: name.text[...]) }
    }

    let lines: [String]
    /// The lines of each block of this kind, headers aside.
    let ours: [LinePattern]
    /// Whether a line without blanks around it begins a section.
    let isHeader: (String) -> Bool
    /// Whether the header above the lines may be a person's, and a block has none then.
    let mayShareHeader: Bool
    /// The line that ends the section of such a block, if one does.
    var closing: LinePattern?

    /// All blocks, from the top.
    func blocks() -> [FoundBlock] {
        let comments = lines.indices.compactMap(comment(at:))
        var found: [FoundBlock] = []
        // Where the lines begin that belong to nothing found so far.
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

    private func comment(at index: Int) -> Comment? {
        let line = TextBlock.withoutReturn(lines[index])
        let isFirst = line.bytewise.hasPrefix(BlockSearch.first.bytewise)
        guard isFirst || line.bytewise.hasPrefix(BlockSearch.last.bytewise) else { return nil }
        // Both are as long.
        return Comment(index: index, isFirst: isFirst, name: line.dropFirst(BlockSearch.first.count).bytewise)
    }

    /// What ends with the comment `end`: one block, or what two have left after the comments between them are lost.
    private func ended(by end: Comment, begunBy begin: Comment?, floor: Int) -> [FoundBlock] {
        if let begin, begin.name == end.name {
            let inside = begin.index + 1..<end.index
            return [FoundBlock(mark: end.mark, range: begin.index...end.index, inside: inside)]
        }
        let inside = linesAbove(end, floor: floor)
        let block = FoundBlock(mark: end.mark, range: inside.lowerBound...end.index, inside: inside)
        return [begin.map { begun(by: $0, below: inside.lowerBound) }, block].compactMap(\.self)
    }

    /// What `begin` begins, where nothing ends it before the line at `ceiling`.
    private func begun(by begin: Comment, below ceiling: Int) -> FoundBlock {
        let inside = linesBelow(begin, ceiling: ceiling)
        let range = begin.index...inside.upperBound - 1
        return FoundBlock(mark: begin.mark, range: range, inside: inside)
    }

    /// The lines of the block whose last comment is `end`; a person's among them only in a section of its own.
    private func linesAbove(_ end: Comment, floor: Int) -> Range<Int> {
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
        // One right below a comment of ours is no person's.
        let isOurs = !mayShareHeader || start - 1 == floor && floor > 0
        return (isOurs ? start - 1 : start)..<end.index
    }

    /// The lines of the block whose first comment is `begin`; a person's among them only in a section of its own.
    private func linesBelow(_ begin: Comment, ceiling: Int) -> Range<Int> {
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

    /// Whether the line begins a section that is named as the block of `comment`.
    private func isHeader(at index: Int, of comment: Comment) -> Bool {
        let line = TextBlock.trimmed(lines[index])
        guard isHeader(line) else { return false }
        return comment.mark.name.map { line.bytewise.contains($0.bytewise) } ?? true
    }
}
