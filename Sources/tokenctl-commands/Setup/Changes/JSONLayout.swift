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
            /// From the name, or the value in an array, to the end of the value.
            var range: Range<Int>
            var value: Range<Int>
        }

        var isObject: Bool
        /// The places of its brackets.
        var open: Int
        var close: Int
        var items: [Item]
    }

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
        let isOnOneLine = !bytes[container.open...container.close].contains(JSONLayout.lineFeed)
        let last = container.items.last
        let separator = last == nil ? "" : ","
        let place = last?.range.upperBound ?? container.open + 1
        let lineIndent = indentation(at: container.open)
        var added = separator
        if isOnOneLine, last != nil {
            added += " " + item
        } else {
            let indent =
                container.items.first.map { indentation(at: $0.range.lowerBound) } ?? lineIndent + "  "
            added += "\n" + indent + item
            if last == nil { added += "\n" + lineIndent }
        }
        // Without items there are blanks at most between the brackets, unless somebody left a comment there.
        let rest =
            last == nil && bytes[place..<container.close].allSatisfy(\.isJSONBlank) ? container.close : place
        return text(replacing: place..<rest, with: added)
    }

    /// The text without the item at `index`, and without the comma that it needed.
    func removing(_ index: Int, from container: Container) -> String {
        let items = container.items
        guard items.count > 1 else { return text(replacing: container.open + 1..<container.close, with: "") }
        return index == 0
            ? text(replacing: items[0].range.lowerBound..<items[1].range.lowerBound, with: "")
            : text(replacing: items[index - 1].range.upperBound..<items[index].range.upperBound, with: "")
    }

    private func text(replacing range: Range<Int>, with new: String) -> String {
        var changed = bytes
        changed.replaceSubrange(range, with: new.utf8)
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
            return Container.Item(name: name, range: start..<place, value: value..<place)
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
