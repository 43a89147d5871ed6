// SPDX-License-Identifier: MIT

import Text

/// Where the members of a JSON text are, so that one can be added or removed while all else stays as it was written.
///
/// Comments and commas at an end are passed over: some programs allow them in their configuration.
struct JSONLayout {
    /// An object or an array.
    struct Container {
        struct Item {
            /// Nil in an array.
            var name: String?
            /// From the name, or the value in an array, to the end of the value; with ``JSONLayout/mark`` if that stands before it.
            var range: Range<Int>
            var isMarked: Bool
            var value: Range<Int>
        }

        var isObject: Bool
        /// The places of its brackets.
        var open: Int
        var close: Int
        var items: [Item]
    }

    /// A comment that stands before an item which was put there by this program, where comments are allowed.
    static let mark = "/* tokenctl setup */"

    /// More nesting than any configuration has.
    private static let deepest = 64
    private static let lineFeed = UInt8(ascii: "\n")

    let bytes: [UInt8]
    let root: Container

    /// Nil if it is not the text of an object or array.
    init?(_ text: String) {
        bytes = Array(text.utf8)
        var reader = Reader(bytes)
        guard let root = reader.container(depth: 0), reader.isAtEnd else { return nil }
        self.root = root
    }

    /// The container that is the value of `item`; nil if it is none.
    func container(in item: Container.Item) -> Container? {
        var reader = Reader(bytes, at: item.value.lowerBound)
        return reader.container(depth: 0)
    }

    /// The value of `item`; nil if it has comments or is no plain JSON.
    func value(of item: Container.Item) -> JSONValue? { try? JSONValue(parsing: bytes[item.value]) }

    /// The text with `item` at the end of `container`, laid out as what is there.
    func adding(_ item: String, to container: Container) -> String {
        let isOnOneLine = isOnOneLine(container)
        let last = container.items.last
        let separator = last == nil ? "" : ","
        let inside = bytes[container.open + 1..<container.close]
        // Behind the comments, if there is nothing else.
        let isEmpty = last == nil && inside.allSatisfy(\.isJSONBlank)
        let end = inside.lastIndex { !$0.isJSONBlank }.map { $0 + 1 } ?? container.open + 1
        let place = last?.range.upperBound ?? end
        let lineIndent = indentation(at: container.open)
        var added = separator
        if isOnOneLine, last != nil {
            added += " " + item
        } else {
            let indent =
                container.items.first.map { indentation(at: $0.range.lowerBound) } ?? lineIndent + "  "
            added += "\n" + indent + item
            if isEmpty { added += "\n" + lineIndent }
        }
        return text(replacing: place..<(isEmpty ? container.close : place), with: added)
    }

    func isOnOneLine(_ container: Container) -> Bool {
        !bytes[container.open...container.close].contains(JSONLayout.lineFeed)
    }

    /// Whether nothing else is in the container, no comment either.
    func isAlone(_ index: Int, in container: Container) -> Bool {
        let range = container.items[index].range
        let isFree: (UInt8) -> Bool = { $0.isJSONBlank || $0 == UInt8(ascii: ",") }
        return container.items.count == 1 && bytes[container.open + 1..<range.lowerBound].allSatisfy(isFree)
            && bytes[range.upperBound..<container.close].allSatisfy(isFree)
    }

    /// The text without the item at `index`, the blanks before it and the comma that it needed.
    func removing(_ index: Int, from container: Container) -> String {
        guard !isAlone(index, in: container) else {
            return text(without: [container.open + 1..<container.close])
        }
        let range = container.items[index].range
        let start = bytes[..<range.lowerBound].lastIndex { !$0.isJSONBlank }.map { $0 + 1 } ?? 0
        var comma = comma(after: range.upperBound)
        if comma == nil, index > 0 { comma = self.comma(after: container.items[index - 1].range.upperBound) }
        let item = start..<range.upperBound
        guard let comma, !item.contains(comma) else { return text(without: [item]) }
        return text(without: [item, comma..<comma + 1])
    }

    /// Where the comma after an item that ends before `place` is; nil if there is none.
    private func comma(after place: Int) -> Int? {
        var reader = Reader(bytes, at: place)
        return reader.comma()
    }

    private func text(replacing range: Range<Int>, with new: String) -> String {
        var changed = bytes
        changed.replaceSubrange(range, with: new.utf8)
        return String(decoding: changed, as: UTF8.self)
    }

    /// The text without these places.
    private func text(without ranges: [Range<Int>]) -> String {
        var changed = bytes
        for range in ranges.sorted(by: { $0.lowerBound > $1.lowerBound }) { changed.removeSubrange(range) }
        return String(decoding: changed, as: UTF8.self)
    }

    /// The blanks at the beginning of the line that `place` is in.
    private func indentation(at place: Int) -> String {
        let start = bytes[..<place].lastIndex(of: JSONLayout.lineFeed).map { $0 + 1 } ?? 0
        return String(decoding: bytes[start...].prefix { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
    }

    /// Walks through a text.
    private struct Reader {
        private let bytes: [UInt8]
        private var place: Int

        init(_ bytes: [UInt8], at place: Int = 0) {
            self.bytes = bytes
            self.place = place
        }

        /// Whether nothing but blanks and comments follow.
        var isAtEnd: Bool {
            mutating get {
                skip()
                return place == bytes.count
            }
        }

        /// Passes over blanks and comments; where the comma behind them is.
        mutating func comma() -> Int? {
            skip()
            return next == UInt8(ascii: ",") ? place : nil
        }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        /// Passes over blanks and comments.
        private mutating func skip() {
            while let byte = next {
                if byte.isJSONBlank {
                    place += 1
                } else if bytes[place...].starts(with: "//".utf8) {
                    place = bytes[place...].firstIndex(of: JSONLayout.lineFeed) ?? bytes.count
                } else if bytes[place...].starts(with: "/*".utf8) {
                    place += 2
                    while place < bytes.count, !bytes[place...].starts(with: "*/".utf8) { place += 1 }
                    place = min(bytes.count, place + 2)
                } else {
                    return
                }
            }
        }

        mutating func container(depth: Int) -> Container? {
            skip()
            guard depth < JSONLayout.deepest, let bracket = next,
                bracket == UInt8(ascii: "{") || bracket == UInt8(ascii: "[")
            else { return nil }
            let isObject = bracket == UInt8(ascii: "{")
            let end = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
            let open = place
            var items: [Container.Item] = []
            place += 1
            while true {
                skip()
                guard let byte = next else { return nil }
                if byte == end {
                    place += 1
                    return Container(isObject: isObject, open: open, close: place - 1, items: items)
                }
                guard let item = item(named: isObject, depth: depth) else { return nil }
                items.append(item)
                skip()
                if next == UInt8(ascii: ",") {
                    place += 1
                } else if next != end {
                    return nil
                }
            }
        }

        private mutating func item(named: Bool, depth: Int) -> Container.Item? {
            let start = place
            var name: String?
            if named {
                guard let text = string() else { return nil }
                name = text
                skip()
                guard next == UInt8(ascii: ":") else { return nil }
                place += 1
                skip()
            }
            let value = place
            guard passValue(depth: depth) else { return nil }
            let mark = mark(before: start)
            return Container.Item(
                name: name,
                range: (mark ?? start)..<place,
                isMarked: mark != nil,
                value: value..<place
            )
        }

        /// Where the mark before an item that begins at `start` is; nil if there is none.
        private func mark(before start: Int) -> Int? {
            let before = bytes[..<start]
            let end = before.lastIndex { !$0.isJSONBlank }.map { $0 + 1 } ?? 0
            let place = end - JSONLayout.mark.utf8.count
            return place >= 0 && bytes[place..<end].elementsEqual(JSONLayout.mark.utf8) ? place : nil
        }

        private mutating func passValue(depth: Int) -> Bool {
            switch next {
            case UInt8(ascii: "\""): return string() != nil
            case UInt8(ascii: "{"), UInt8(ascii: "["): return container(depth: depth + 1) != nil
            default:
                let start = place
                while let byte = next, byte.isASCIILetter || byte.isASCIIDigit || "+-.".utf8.contains(byte) {
                    place += 1
                }
                return place > start
            }
        }

        /// Passes over a string and answers what it means.
        private mutating func string() -> String? {
            guard next == UInt8(ascii: "\"") else { return nil }
            let start = place
            place += 1
            while let byte = next, byte != UInt8(ascii: "\"") { place += byte == UInt8(ascii: "\\") ? 2 : 1 }
            guard next != nil else { return nil }
            place += 1
            return (try? JSONValue(parsing: bytes[start..<place]))?.string
        }
    }
}

extension UInt8 {
    fileprivate var isJSONBlank: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }
}
