// SPDX-License-Identifier: MIT

import AgentProtocol
import TOML
import Text

/// Lines in a text file, between two comments that say whose they are.
///
/// Comments begin with `#`, as in all the formats that are edited so.
struct TextBlock: SetupChange {
    enum Place: Equatable, Sendable {
        /// At the beginning, where the keys before the first table belong.
        case top
        case end
        /// Below this line, or one that means the same; the first is added where both are missing.
        case section(String, synonym: String? = nil)
    }

    let file: String
    /// Names the block among others in the file, its first word the client.
    let mark: String
    let place: Place
    let lines: [String]
    /// What a line there must not begin with: keys that can be given once.
    var keys: [String] = []
    /// Other sections where such lines are in the way; none, and at the end of the file: anywhere.
    var sections: [String] = []
    /// Whether the file is TOML: a person's text has to be that, without the block and with it.
    var isTOML = false

    /// How the first line of every block begins.
    static let first = "# >>> tokenctl setup "
    private static let last = "# <<< tokenctl setup "
    /// Stands above a block that a line without an end came before, so that this line has none again afterwards.
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
        let blocks = TextBlock.blocks(in: all, marked: mark, exactly: true)
        if blocks.count == 1 {
            let inside = all[blocks[0]].dropFirst().dropLast().map(TextBlock.withoutReturn)
            if inside.elementsEqual(lines) { return true }
            if case .section(let header, _) = place, inside.elementsEqual([header] + lines) { return true }
        }
        return false
    }

    func make() throws(AgentError) {
        let edited = try EditedFile(file)
        let text = edited.text ?? ""
        let new = try changed(text)
        if new != text { try edited.replace(with: new) }
    }

    func remnant() throws(AgentError) -> [String] {
        let all = TextBlock.lines(of: try EditedFile(file).text ?? "")
        let blocks = TextBlock.blocks(in: all, marked: mark, exactly: false)
        guard !blocks.isEmpty else { return [] }
        return [file + ":"] + blocks.flatMap { all[$0].dropFirst().dropLast() }.map { "    " + $0 }
    }

    func undo() throws(AgentError) -> Bool {
        let edited = try EditedFile(file)
        guard let text = edited.text else { return false }
        let new = TextBlock.without(mark, text, exactly: false)
        guard new != text else { return false }
        try edited.replace(with: new)
        return true
    }

    /// Whether blocks of `client` stay in `file` when those with `marks` go.
    static func remain(in file: String, of client: String, without marks: [String]) throws(AgentError) -> Bool
    {
        var text = try EditedFile(file).text ?? ""
        for mark in marks { text = without(mark, text, exactly: false) }
        return without(client, text, exactly: false) != text
    }

    /// `text` with the block; one that is there already is replaced.
    private func changed(_ text: String) throws(AgentError) -> String {
        let old = TextBlock.without(mark, text, exactly: true)
        var all = TextBlock.lines(of: old)
        var (index, inside) = (all.count, lines)
        switch place {
        case .top:
            try check(all[...].prefix { SectionHeader($0) == nil })
            index = 0
        case .end:
            // Other blocks of this client may stand there too.
            let theirs = TextBlock.lines(of: TextBlock.without(client, old, exactly: false))
            if sections.isEmpty {
                try check(theirs[...])
            } else {
                _ = try checkSections(sections, of: theirs)
            }
        case .section(let header, let synonym):
            // Of several, some programs read the last alone.
            _ = try checkSections(sections, of: all)
            let starts = try checkSections([header, synonym].compactMap(\.self), of: all)
            if let start = starts.last { index = start + 1 } else { inside.insert(header, at: 0) }
        }
        var block = [TextBlock.first + mark] + inside + [TextBlock.last + mark]
        let isLast = index == all.count
        let isEnded = old.isEmpty || TextBlock.isEnded(old)
        if isLast, !isEnded { block.insert(TextBlock.unended, at: 0) }
        all.insert(contentsOf: block, at: index)
        let new = TextBlock.text(of: all, isEnded: isEnded || isLast)
        try checkFormat(of: old, becoming: new, by: inside)
        return new
    }

    /// Checks the sections with one of these headers, and returns where they begin.
    private func checkSections(_ headers: [String], of lines: [String]) throws(AgentError) -> [Int] {
        let names = headers.compactMap { SectionHeader($0) }
        let starts = lines.indices.filter { SectionHeader(lines[$0]).map(names.contains) ?? false }
        for start in starts { try check(lines[(start + 1)...].prefix { SectionHeader($0) == nil }) }
        return starts
    }

    /// The first word of the mark.
    private var client: String { String(mark.prefix { $0 != " " }) }

    /// Checks that none of the `lines`, which a person wrote, gives what the block gives.
    private func check(_ lines: ArraySlice<String>) throws(AgentError) {
        for key in keys {
            guard let index = lines.firstIndex(where: { TextBlock.gives(key, $0) }) else { continue }
            throw AgentError(
                .badRequest,
                "\(file) has a line of its own for this: \(TextBlock.trimmed(lines[index]))",
                remedy: "remove it first, or add the lines of --print by hand"
            )
        }
    }

    /// Checks that a person's text, and what becomes of it, can be read by the program.
    private func checkFormat(of old: String, becoming new: String, by lines: [String]) throws(AgentError) {
        guard isTOML else { return }
        do throws(TOMLError) {
            _ = try TOMLTable(parsing: Array(old.utf8))
        } catch {
            throw AgentError(
                .badRequest,
                "\(file) is not TOML 1.0: line \(error.position.line): \(error.message)",
                remedy: "mend it first"
            )
        }
        guard (try? TOMLTable(parsing: Array(new.utf8))) != nil else {
            throw AgentError(
                .badRequest,
                "\(file) has a key or table of its own in place of \(lines.first ?? "")",
                remedy: "remove it first, or add the lines of --print by hand"
            )
        }
    }

    // MARK: Lines

    /// The lines of a text, without the end of the last one.
    private static func lines(of text: String) -> [String] {
        var lines = text.bytewise.split(on: "\n", omittingEmpty: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Some editors end each line of a file in another way than it was.
    private static func withoutReturn(_ line: String) -> String {
        line.utf8.last == UInt8(ascii: "\r") ? String(line.utf8.dropLast()) ?? line : line
    }

    private static func isEnded(_ text: String) -> Bool { text.utf8.last == UInt8(ascii: "\n") }

    private static func text(of lines: [String], isEnded: Bool) -> String {
        lines.joined(separator: "\n") + (isEnded && !lines.isEmpty ? "\n" : "")
    }

    /// The blocks of `mark`; unless `exactly`, those too whose mark begins with these words.
    private static func blocks(in lines: [String], marked mark: String, exactly: Bool) -> [ClosedRange<Int>] {
        var blocks: [ClosedRange<Int>] = []
        var start: (index: Int, mark: String)?
        for (index, line) in lines.map(withoutReturn).enumerated() {
            if isFirst(line) {
                let found = String(line.dropFirst(first.count))
                let isMeant = found == mark || !exactly && found.hasPrefix(mark + " ")
                start = isMeant ? (index: index, mark: found) : nil
            } else if let begun = start, line == last + begun.mark {
                blocks.append(begun.index...index)
                start = nil
            }
        }
        return blocks
    }

    private static func without(_ mark: String, _ text: String, exactly: Bool) -> String {
        var rest = lines(of: text)
        let found = blocks(in: rest, marked: mark, exactly: exactly)
        guard let final = found.last else { return text }
        var isEnded = isEnded(text) || final.upperBound == rest.count - 1
        for block in found.reversed() { rest.removeSubrange(block) }
        if let note = rest.map(withoutReturn).firstIndex(of: unended),
            !rest[(note + 1)...].prefix(1).contains(where: isFirst)
        {
            // What a person has written below it since then stays on a line of its own.
            if note == rest.count - 1 { isEnded = false }
            rest.remove(at: note)
        }
        return self.text(of: rest, isEnded: isEnded)
    }

    private static func isFirst(_ line: String) -> Bool { line.hasPrefix(first) }

    /// Whether the line begins with `key` and ends there, or goes on with what no key has.
    private static func gives(_ key: String, _ line: String) -> Bool {
        let text = trimmed(line)
        guard text.lowercased().hasPrefix(key.lowercased()) else { return false }
        let next = text.dropFirst(key.count).utf8.first
        return next.map { !$0.isASCIILetter && !$0.isASCIIDigit && !"-_.".utf8.contains($0) } ?? true
    }

    /// The line without the blanks around it.
    private static func trimmed(_ line: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
        let start = line.firstIndex { !isBlank($0) } ?? line.endIndex
        let end = line.lastIndex { !isBlank($0) }.map { line.index(after: $0) } ?? start
        return String(line[start..<end])
    }
}
