// SPDX-License-Identifier: MIT

import AgentProtocol
import TOML
import Text

/// A block of lines in a text file, between two comments that identify it.
///
/// Comments begin with `#`, as in all formats that are edited this way. Lines that users and other programs
/// have since added between the comments belong to the user, and stay when the block is removed.
struct TextBlock: SetupChange {
    enum InsertionPoint: Equatable, Sendable {
        /// At the beginning, before the first table, where top-level keys belong.
        case top
        case end
        /// Below this line, or its synonym; the line is added if both are missing.
        case section(String, synonym: String? = nil)
    }

    let file: String
    /// The mark of the block among others in the file.
    let mark: BlockIdentifier
    let place: InsertionPoint
    let lines: [String]
    /// The patterns that distinguish lines of such a block from a user's, whatever the options of the block.
    ///
    /// Each matches one line, in order, without headers.
    let ours: [LinePattern]
    /// The patterns of section headers without brackets.
    var headers: [LinePattern] = []
    /// The header in the last line of the block, which ends its section for the lines that follow.
    var closing: LinePattern?
    /// The keys that may be set only once, so that no other line there may begin with them.
    var keys: [String] = []
    /// A predicate for other lines, with the header above each, that conflict although they begin with none
    /// of ``keys``.
    var isRival: (_ line: String, _ header: String?) -> Bool = { _, _ in false }
    /// A predicate for sections, other than the block's own, in which such lines conflict.
    ///
    /// If it is `nil` and the block is at the end of the file, such lines conflict anywhere.
    var isRivalSection: ((SectionHeader) -> Bool)?
    /// Whether the file is TOML; the user's text must be valid with and without the block.
    var isTOML = false

    /// The comment above a block that follows a line without a line end, so that undo can restore that line.
    private static let unended = "# tokenctl setup: the line above had no end"

    var shown: [String] {
        let header =
            switch place {
            case .top, .end: [String]()
            case .section(let header, _): [header]
            }
        return [file + ":"] + (header + lines).map { "    " + $0 }
    }

    func isMade() throws(AgentError) -> Bool {
        let text = try EditedFile(file).text ?? ""
        _ = try changed(text)
        let all = TextBlock.lines(of: text)
        let blocks = blocks(in: all, mark.ofAnySession)
        guard blocks.count == 1, blocks[0].mark == mark, blocks[0].isWhole else { return false }
        let theirs = theirs(in: all, blocks[0].inside)
        let present = blocks[0].inside.filter { !theirs.contains($0) }.map {
            TextBlock.withoutReturn(all[$0])
        }
        if case .section(let header, _) = place, present == [header] + lines { return true }
        return present == lines
    }

    func replaced() throws(AgentError) -> [String] {
        let all = TextBlock.lines(of: try EditedFile(file).text ?? "")
        return going(blocks(in: all, mark.ofAnySession), in: all).map { TextBlock.withoutReturn(all[$0]) }
    }

    @discardableResult
    func make() throws(AgentError) -> Restoring {
        if try isMade() { return {} }
        let edited = try EditedFile(file)
        return try edited.replace(with: try changed(edited.text ?? ""))
    }

    func remnant() throws(AgentError) -> [String] {
        let all = TextBlock.lines(of: try EditedFile(file).text ?? "")
        let blocks = blocks(in: all, mark)
        guard !blocks.isEmpty else { return [] }
        return [file + ":"] + going(blocks, in: all).map { "    " + all[$0] }
    }

    /// Returns the lines that are removed with the blocks.
    private func going(_ blocks: [FoundBlock], in all: [String]) -> [Int] {
        blocks.flatMap { block in
            let kept = kept(of: block, in: all)
            let lines = block.inside.isEmpty ? Array(block.range) : Array(block.inside)
            return lines.filter { !kept.contains($0) }
        }
    }

    /// Finds lines outside of blocks that this block would contain: some programs rewrite their file without
    /// comments.
    func unmarked() throws(AgentError) -> [String] {
        guard !ours.isEmpty else { return [] }
        let all = TextBlock.lines(of: try EditedFile(file).text ?? "")
        let marked = Set(blocks(in: all, BlockIdentifier(mark.client)).flatMap(\.range))
        let starts = all.indices.dropLast(ours.count - 1).filter { start in
            let lines = all[start..<start + ours.count].map(TextBlock.trimmed)
            guard marked.isDisjoint(with: start..<start + ours.count),
                zip(ours, lines).allSatisfy({ $0.matches($1) })
            else { return false }
            return isNamed(by: lines + [all[..<start].last(where: isHeader) ?? ""])
        }
        return starts.map { start in
            let lines = all[start..<start + ours.count].map(TextBlock.trimmed).joined(separator: " ")
            let reason = "not removed: looks like our entry but has no marker comment"
            return "\(file):\(start + 1): \(reason): \(lines)"
        }
    }

    /// Returns whether `lines`, with the header above them, are for the server and sessions of the mark.
    private func isNamed(by lines: [String]) -> Bool {
        let isThere = { (word: String) in lines.contains { $0.bytewise.contains(word.bytewise) } }
        return (mark.name.map(isThere) ?? true)
            && (mark.sessions.isEmpty || mark.sessions.contains(where: isThere))
    }

    func undo() throws(AgentError) {
        let edited = try EditedFile(file)
        guard let text = edited.text else { return }
        let new = without(mark, text)
        guard new != text else { return }
        try edited.replace(with: new)
    }

    /// Returns whether non-empty blocks of this client remain in the file after those of `marks` are removed.
    func remain(without marks: [BlockIdentifier]) throws(AgentError) -> Bool {
        let all = TextBlock.lines(of: try EditedFile(file).text ?? "")
        return blocks(in: all, BlockIdentifier(mark.client)).contains { block in
            !block.inside.isEmpty && !marks.contains { $0.names(block.mark) }
        }
    }

    /// Returns `text` with the block, which replaces an existing one.
    private func changed(_ text: String) throws(AgentError) -> String {
        let old = without(mark.ofAnySession, text)
        var all = TextBlock.lines(of: old)
        var (index, inside) = (all.count, lines)
        switch place {
        case .top:
            try check(all[...].prefix { SectionHeader($0) == nil })
            index = 0
        case .end:
            // Other blocks of this client may also be there.
            let theirs = TextBlock.lines(of: without(BlockIdentifier(mark.client), old))
            if let isRivalSection {
                _ = try check(sections: isRivalSection, of: theirs)
            } else {
                try check(theirs)
            }
        case .section(let header, let synonym):
            // Some programs read only the last of several sections.
            if let isRivalSection { _ = try check(sections: isRivalSection, of: all) }
            let names = [header, synonym].compactMap(\.self).compactMap { SectionHeader($0) }
            let starts = try check(sections: { names.contains($0) }, of: all)
            if let start = starts.last { index = start + 1 } else { inside.insert(header, at: 0) }
        }
        let block = [BlockSearch.first + mark.text] + inside + [BlockSearch.last + mark.text]
        let isLast = index == all.count
        let isEnded = old.isEmpty || TextBlock.isEnded(old)
        all.insert(contentsOf: block, at: index)
        if isLast, !isEnded {
            all.insert(TextBlock.unended, at: index)
            index += 1
        }
        try checkFormat(of: old, becoming: all, at: index)
        return TextBlock.text(of: all, isEnded: isEnded || isLast)
    }

    /// Checks the sections with such headers, and returns the lines at which they begin.
    private func check(
        sections isMeant: (SectionHeader) -> Bool,
        of lines: [String]
    ) throws(AgentError) -> [Int] {
        let starts = lines.indices.filter { SectionHeader(lines[$0]).map(isMeant) ?? false }
        for start in starts {
            // Git also accepts a key after the header.
            let rest = SectionHeader(lines[start])?.rest ?? ""
            try check([rest] + lines[(start + 1)...].prefix { SectionHeader($0) == nil })
        }
        return starts
    }

    /// Checks that none of `lines`, which a user wrote, conflicts with the block.
    private func check(_ lines: some Sequence<String>) throws(AgentError) {
        var header: String?
        for line in lines {
            let text = TextBlock.trimmed(line)
            if isHeader(line) { header = text }
            guard keys.contains(where: { TextBlock.gives($0, line) }) || isRival(text, header) else {
                continue
            }
            throw AgentError(
                .badRequest,
                "\(file) already has a conflicting line: \(text)",
                remedy: .retry("after removing it")
            )
        }
    }

    /// Checks that the user's text and the new `lines` are valid for the program.
    ///
    /// - Parameters:
    ///   - old: The text without the block.
    ///   - lines: The lines with the block.
    ///   - index: The line at which the block begins.
    /// - Throws: ``AgentError`` with the code `badRequest` if the text is not TOML or conflicts with the
    ///   block.
    private func checkFormat(of old: String, becoming lines: [String], at index: Int) throws(AgentError) {
        guard isTOML else { return }
        do throws(TOMLError) {
            _ = try TOMLTable(parsing: Array(old.utf8))
        } catch {
            throw AgentError(
                .badRequest,
                "\(file):\(error.position.line): not TOML 1.0: \(error.message)",
                remedy: .retry("after correcting the file")
            )
        }
        // In a multi-line string our comment would be part of the string, and so would a bracket in its
        // place.
        var others = lines
        others[index] = "]"
        guard isTOML(lines), !isTOML(others) else {
            throw AgentError(
                .badRequest,
                "\(file) already has another key, table or string for \(lines[index + 1])",
                remedy: .retry("after removing it")
            )
        }
    }

    private func isTOML(_ lines: [String]) -> Bool {
        (try? TOMLTable(parsing: Array(TextBlock.text(of: lines, isEnded: true).utf8))) != nil
    }

    // MARK: Blocks

    /// Returns the blocks that `mark` matches, and single comments that remain of other blocks of this
    /// client.
    private func blocks(in lines: [String], _ mark: BlockIdentifier) -> [FoundBlock] {
        var mayShareHeader = false
        if case .section = place { mayShareHeader = true }
        let search = BlockSearch(
            lines: lines,
            ours: ours,
            isHeader: isHeader,
            mayShareHeader: mayShareHeader,
            closing: closing
        )
        return search.blocks().filter { block in
            mark.names(block.mark) || block.isComment && block.mark.client == mark.client
        }
    }

    /// Returns the text without the blocks that `mark` matches; a user's lines in them stay.
    private func without(_ mark: BlockIdentifier, _ text: String) -> String {
        var rest = TextBlock.lines(of: text)
        let found = blocks(in: rest, mark)
        guard let final = found.last else { return text }
        var isEnded = TextBlock.isEnded(text) || final.range.upperBound == rest.count - 1
        for block in found.reversed() {
            rest.replaceSubrange(block.range, with: kept(of: block, in: rest).map { rest[$0] })
        }
        if let note = rest.map(TextBlock.withoutReturn).firstIndex(of: TextBlock.unended),
            !rest[(note + 1)...].prefix(1).contains(where: TextBlock.isFirst)
        {
            // Lines that a user has since added below stay separate lines.
            if note == rest.count - 1 { isEnded = false }
            rest.remove(at: note)
        }
        return TextBlock.text(of: rest, isEnded: isEnded)
    }

    /// Returns the lines that stay when the block is removed: a user's, with the headers of their sections.
    private func kept(of block: FoundBlock, in lines: [String]) -> [Int] {
        let ours = ours(in: lines, block.inside)
        let isShared = !theirs(in: lines, block.inside).isEmpty || isContinued(block, in: lines)
        guard !isShared else { return block.inside.filter { !ours.contains($0) } }
        guard let last = block.inside.last, closing?.matches(TextBlock.trimmed(lines[last])) == true,
            let above = lines[..<block.range.lowerBound].last(where: isHeader),
            closing?.matches(TextBlock.trimmed(above)) == false, isFollowed(block, in: lines)
        else { return [] }
        // Without this line, the lines that follow would belong to a user's section above the block.
        return [last]
    }

    /// Returns whether a user's lines below the block belong to its last section.
    private func isContinued(_ block: FoundBlock, in lines: [String]) -> Bool {
        place != .top && isFollowed(block, in: lines)
    }

    /// Returns whether lines follow the block before another section begins.
    private func isFollowed(_ block: FoundBlock, in lines: [String]) -> Bool {
        let next = lines[(block.range.upperBound + 1)...].lazy.map(TextBlock.trimmed)
            .first { !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix(";") }
        return next.map { !isHeader($0) } ?? false
    }

    /// Returns the lines of a block that this program wrote.
    private func ours(in lines: [String], _ inside: Range<Int>) -> Set<Int> {
        var rest = ours[...]
        var found: Set<Int> = []
        for index in inside {
            let line = TextBlock.trimmed(lines[index])
            guard let next = rest.firstIndex(where: { $0.matches(line) }) else { continue }
            found.insert(index)
            rest = rest[(next + 1)...]
        }
        return found
    }

    private func isHeader(_ line: String) -> Bool {
        let text = TextBlock.trimmed(line)
        return SectionHeader(line) != nil || headers.contains { $0.matches(text) }
    }

    /// Returns the lines of a block that a user wrote.
    private func theirs(in lines: [String], _ inside: Range<Int>) -> Set<Int> {
        let ours = ours(in: lines, inside)
        return Set(
            inside.filter {
                !ours.contains($0) && !TextBlock.trimmed(lines[$0]).isEmpty && !isHeader(lines[$0])
            }
        )
    }

    // MARK: Lines

    /// Splits a text into lines, without an empty one at the end.
    private static func lines(of text: String) -> [String] {
        var lines = text.bytewise.split(on: "\n", omittingEmpty: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Removes a carriage return, because some editors change the line ends of a file.
    static func withoutReturn(_ line: String) -> String {
        line.utf8.last == UInt8(ascii: "\r") ? String(line.utf8.dropLast()) ?? line : line
    }

    private static func isEnded(_ text: String) -> Bool { text.utf8.last == UInt8(ascii: "\n") }

    private static func text(of lines: [String], isEnded: Bool) -> String {
        lines.joined(separator: "\n") + (isEnded && !lines.isEmpty ? "\n" : "")
    }

    private static func isFirst(_ line: String) -> Bool {
        line.bytewise.hasPrefix(BlockSearch.first.bytewise)
    }

    /// Returns whether the line begins with `key`, followed by the end or a character that no key contains.
    private static func gives(_ key: String, _ line: String) -> Bool {
        let text = trimmed(line)
        guard text.lowercased().hasPrefix(key.lowercased()) else { return false }
        let next = text.dropFirst(key.count).utf8.first
        return next.map { !$0.isASCIILetter && !$0.isASCIIDigit && !"-_.".utf8.contains($0) } ?? true
    }

    /// Removes leading and trailing blanks.
    static func trimmed(_ line: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
        let start = line.firstIndex { !isBlank($0) } ?? line.endIndex
        let end = line.lastIndex { !isBlank($0) }.map { line.index(after: $0) } ?? start
        return String(line[start..<end])
    }
}
