// SPDX-License-Identifier: MIT

import Text

/// The positions of the members in a JSON text, for adding or removing one without changing the rest.
///
/// Comments and trailing commas are skipped, because some programs allow them in their configuration.
struct JSONLayout {
    /// An object or an array.
    struct Container {
        struct Item {
            /// The name, or `nil` in an array.
            var name: String?
            /// The range from the name, or from the value in an array, to the end of the value.
            ///
            /// It includes ``JSONLayout/mark`` if the mark precedes the item.
            var range: Range<Int>
            var isMarked: Bool
            var value: Range<Int>
        }

        var isObject: Bool
        /// The positions of the brackets.
        var open: Int
        var close: Int
        var items: [Item]
    }

    /// The comment before items that this program added, in files that allow comments.
    static let mark = "/* tokenctl setup */"

    /// The maximum depth of nesting, more than any configuration has.
    private static let deepest = 64
    private static let lineFeed = UInt8(ascii: "\n")

    let bytes: [UInt8]
    let root: Container

    /// Parses `text`, or returns `nil` if it is not an object or array.
    init?(_ text: String) {
        bytes = Array(text.utf8)
        var reader = Reader(bytes)
        guard let root = reader.container(depth: 0), reader.isAtEnd else { return nil }
        self.root = root
    }

    /// Returns the container that is the value of `item`, or `nil` if the value is not one.
    func container(in item: Container.Item) -> Container? {
        var reader = Reader(bytes, at: item.value.lowerBound)
        return reader.container(depth: 0)
    }

    /// Returns the value of `item`, or `nil` if it contains comments or is not plain JSON.
    func value(of item: Container.Item) -> JSONValue? { try? JSONValue(parsing: bytes[item.value]) }

    /// Returns the text with `item` at the end of `container`, in the layout of the existing items.
    func adding(_ item: String, to container: Container) -> String {
        let isOnOneLine = isOnOneLine(container)
        let last = container.items.last
        let separator = last == nil ? "" : ","
        let inside = bytes[container.open + 1..<container.close]
        // If there are only comments, the item follows them.
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

    /// Returns whether the item is alone in the container, without comments.
    func isAlone(_ index: Int, in container: Container) -> Bool {
        let range = container.items[index].range
        let isFree: (UInt8) -> Bool = { $0.isJSONBlank || $0 == UInt8(ascii: ",") }
        return container.items.count == 1 && bytes[container.open + 1..<range.lowerBound].allSatisfy(isFree)
            && bytes[range.upperBound..<container.close].allSatisfy(isFree)
    }

    /// Returns the text without the item at `index`, the blanks before it and its comma.
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

    /// Returns the position of the comma after an item that ends before `place`, or `nil` if there is none.
    private func comma(after place: Int) -> Int? {
        var reader = Reader(bytes, at: place)
        return reader.comma()
    }

    private func text(replacing range: Range<Int>, with new: String) -> String {
        var changed = bytes
        changed.replaceSubrange(range, with: new.utf8)
        return String(decoding: changed, as: UTF8.self)
    }

    /// Returns the text without the given ranges.
    private func text(without ranges: [Range<Int>]) -> String {
        var changed = bytes
        for range in ranges.sorted(by: { $0.lowerBound > $1.lowerBound }) { changed.removeSubrange(range) }
        return String(decoding: changed, as: UTF8.self)
    }

    /// Returns the blanks at the beginning of the line that contains `place`.
    private func indentation(at place: Int) -> String {
        let start = bytes[..<place].lastIndex(of: JSONLayout.lineFeed).map { $0 + 1 } ?? 0
        return String(decoding: bytes[start...].prefix { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
    }

    /// A parser of the text.
    private struct Reader {
        private let bytes: [UInt8]
        private var place: Int

        init(_ bytes: [UInt8], at place: Int = 0) {
            self.bytes = bytes
            self.place = place
        }

        /// Whether only blanks and comments follow.
        var isAtEnd: Bool {
            mutating get {
                skip()
                return place == bytes.count
            }
        }

        /// Skips blanks and comments, and returns the position of a comma after them, or `nil`.
        mutating func comma() -> Int? {
            skip()
            return next == UInt8(ascii: ",") ? place : nil
        }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        /// Skips blanks and comments.
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

        /// Returns the position of the mark before an item that begins at `start`, or `nil` if there is none.
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

        /// Parses a string and returns its value.
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
