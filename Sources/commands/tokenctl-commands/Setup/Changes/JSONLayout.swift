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
        var scanner = JSONScanner(bytes, isLenient: true)
        guard let root = JSONLayout.container(&scanner), scanner.isAtEnd() else { return nil }
        self.root = root
    }

    /// Returns the container that is the value of `item`, or `nil` if the value is not one.
    func container(in item: Container.Item) -> Container? {
        var scanner = JSONScanner(bytes, in: item.value, isLenient: true)
        return JSONLayout.container(&scanner)
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
        let isEmpty = last == nil && inside.allSatisfy(\.isBlank)
        let end = inside.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? container.open + 1
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
        let isFree: (UInt8) -> Bool = { $0.isBlank || $0 == UInt8(ascii: ",") }
        return container.items.count == 1 && bytes[container.open + 1..<range.lowerBound].allSatisfy(isFree)
            && bytes[range.upperBound..<container.close].allSatisfy(isFree)
    }

    /// Returns the text without the item at `index`, the blanks before it and its comma.
    func removing(_ index: Int, from container: Container) -> String {
        guard !isAlone(index, in: container) else {
            return text(without: [container.open + 1..<container.close])
        }
        let range = container.items[index].range
        let start = bytes[..<range.lowerBound].lastIndex { !$0.isBlank }.map { $0 + 1 } ?? 0
        var comma = comma(after: range.upperBound)
        if comma == nil, index > 0 { comma = self.comma(after: container.items[index - 1].range.upperBound) }
        let item = start..<range.upperBound
        guard let comma, !item.contains(comma) else { return text(without: [item]) }
        return text(without: [item, comma..<comma + 1])
    }

    /// Returns the position of the comma after an item that ends before `place`, or `nil` if there is none.
    private func comma(after place: Int) -> Int? {
        var scanner = JSONScanner(bytes, in: place..<bytes.count, isLenient: true)
        scanner.skipBlanks()
        return (try? scanner.peek()) == UInt8(ascii: ",") ? scanner.offset : nil
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

    /// Returns the container at the scanner, or `nil` if there is none or it is not complete.
    private static func container(_ scanner: inout JSONScanner) -> Container? {
        scanner.skipBlanks()
        guard let bracket = try? scanner.peek(),
            bracket == UInt8(ascii: "{") || bracket == UInt8(ascii: "[")
        else { return nil }
        let isObject = bracket == UInt8(ascii: "{")
        let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        let open = scanner.offset
        var items: [Container.Item] = []
        do throws(JSONError) {
            var follows = try scanner.begin(until: closing)
            while follows {
                items.append(try item(&scanner, named: isObject))
                follows = try scanner.goOn(until: closing)
            }
        } catch {
            return nil
        }
        return Container(isObject: isObject, open: open, close: scanner.offset - 1, items: items)
    }

    private static func item(
        _ scanner: inout JSONScanner,
        named: Bool
    ) throws(JSONError) -> Container.Item {
        let start = scanner.offset
        let name = named ? try scanner.memberName() : nil
        let value = scanner.offset
        try scanner.value(depthLeft: deepest)
        let mark = mark(before: start, in: scanner.bytes)
        return Container.Item(
            name: name,
            range: (mark ?? start)..<scanner.offset,
            isMarked: mark != nil,
            value: value..<scanner.offset
        )
    }

    /// Returns the position of the mark before an item that begins at `start`, or `nil` if there is none.
    private static func mark(before start: Int, in bytes: [UInt8]) -> Int? {
        let before = bytes[..<start]
        let end = before.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? 0
        let place = end - mark.utf8.count
        return place >= 0 && bytes[place..<end].elementsEqual(mark.utf8) ? place : nil
    }
}
