// SPDX-License-Identifier: MIT

import Text

/// The tables of a TOML text during parsing, with the state that decides what may still be added to them.
struct TOMLTree {
    /// A reference to a table of this tree.
    struct TableID {
        fileprivate let index: Int
    }

    /// The syntax that created a table, which decides what may add to it (TOML 1.0, Table).
    private enum Origin {
        /// A header of a table below this one.
        case implied
        /// The table's own header.
        case header
        /// A dotted key before a value.
        case dottedKey
    }

    /// The value of an entry.
    private enum Node {
        /// A complete value: a simple value, an array or an inline table.
        case value(TOMLValue.Content)
        case table(TableID)
        /// The tables of `[[…]]`, as an index into ``lists``.
        case elements(Int)
    }

    /// A table of `[[…]]`, with the position of its header.
    private struct TableArrayElement {
        let table: TableID
        let position: TOMLPosition
    }

    private struct Entry {
        let key: ByteText
        let position: TOMLPosition
        let node: Node
    }

    private struct Table {
        /// The maximum number of entries that are searched linearly.
        static let many = 16

        var origin: Origin
        private(set) var entries: [Entry] = []
        /// The index of each key, used once there are more than ``many`` entries.
        private var places: [ByteText: Int] = [:]

        init(_ origin: Origin) {
            self.origin = origin
        }

        func place(of key: ByteText) -> Int? {
            places.isEmpty ? entries.firstIndex { $0.key == key } : places[key]
        }

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            if entries.count > Self.many {
                if places.isEmpty {
                    for (place, known) in entries.enumerated() { places[known.key] = place }
                }
                places[entry.key] = entries.count - 1
            }
        }
    }

    /// The top-level table.
    let root = TableID(index: 0)
    private var tables = [Table(.header)]
    /// The tables of each `[[…]]`; none is empty.
    private var lists: [[TableArrayElement]] = []

    /// Everything parsed, in the order of the text.
    var content: TOMLTable { frozen(root) }
}

// MARK: Adding

extension TOMLTree {
    /// Begins the table of a header `[a.b]`.
    ///
    /// - Throws: ``TOMLError`` if a table or value of that name is complete.
    mutating func beginTable(_ path: TOMLKeyPath) throws(TOMLError) -> TableID {
        let parent = try parent(of: path)
        guard let place = tables[parent.index].place(of: path.last) else {
            return add(.header, path.last, at: path.position, to: parent)
        }
        let known = tables[parent.index].entries[place]
        guard case .table(let table) = known.node, tables[table.index].origin == .implied else {
            throw path.isTaken(since: known.position)
        }
        tables[table.index].origin = .header
        return table
    }

    /// Begins another table of a header `[[a.b]]`.
    ///
    /// - Throws: ``TOMLError`` if the name belongs to anything else.
    mutating func beginElement(_ path: TOMLKeyPath) throws(TOMLError) -> TableID {
        let parent = try parent(of: path)
        let table = TableID(index: tables.count)
        let element = TableArrayElement(table: table, position: path.position)
        if let place = tables[parent.index].place(of: path.last) {
            let known = tables[parent.index].entries[place]
            guard case .elements(let list) = known.node else { throw path.isTaken(since: known.position) }
            lists[list].append(element)
        } else {
            let entry = Entry(key: path.last, position: path.position, node: .elements(lists.count))
            tables[parent.index].append(entry)
            lists.append([element])
        }
        tables.append(Table(.header))
        return table
    }

    /// Sets `a.b = value` in `table`.
    ///
    /// - Throws: ``TOMLError`` if the key is already set, or a part of it is not a table that may be
    ///   extended.
    mutating func set(
        _ path: TOMLKeyPath,
        to value: TOMLValue.Content,
        in table: TableID
    ) throws(TOMLError) {
        var table = table
        for key in path.leading {
            guard let place = tables[table.index].place(of: key) else {
                table = add(.dottedKey, key, at: path.position, to: table)
                continue
            }
            let known = tables[table.index].entries[place]
            guard case .table(let inner) = known.node, tables[inner.index].origin != .header else {
                throw path.isTaken(since: known.position)
            }
            tables[inner.index].origin = .dottedKey
            table = inner
        }
        if let place = tables[table.index].place(of: path.last) {
            throw path.isTaken(since: tables[table.index].entries[place].position)
        }
        let entry = Entry(key: path.last, position: path.position, node: .value(value))
        tables[table.index].append(entry)
    }

    /// Returns the table that contains a header's last key, and creates missing tables as implied.
    private mutating func parent(of path: TOMLKeyPath) throws(TOMLError) -> TableID {
        var table = root
        for key in path.leading {
            guard let place = tables[table.index].place(of: key) else {
                table = add(.implied, key, at: path.position, to: table)
                continue
            }
            let known = tables[table.index].entries[place]
            switch known.node {
            case .value: throw path.isTaken(since: known.position)
            case .table(let inner): table = inner
            case .elements(let list): table = lists[list][lists[list].count - 1].table
            }
        }
        return table
    }

    private mutating func add(
        _ origin: Origin,
        _ key: ByteText,
        at position: TOMLPosition,
        to parent: TableID
    ) -> TableID {
        let table = TableID(index: tables.count)
        tables.append(Table(origin))
        tables[parent.index].append(Entry(key: key, position: position, node: .table(table)))
        return table
    }
}

// MARK: Reading

extension TOMLTree {
    private func frozen(_ table: TableID) -> TOMLTable {
        TOMLTable(
            entries: tables[table.index].entries.map { entry in
                let value = TOMLValue(frozen(entry.node), at: entry.position)
                return TOMLTable.Entry(key: entry.key.text, position: entry.position, value: value)
            }
        )
    }

    private func frozen(_ node: Node) -> TOMLValue.Content {
        switch node {
        case .value(let content): content
        case .table(let table): .table(frozen(table))
        case .elements(let list):
            .array(lists[list].map { TOMLValue(.table(frozen($0.table)), at: $0.position) })
        }
    }
}

/// A key of one or more parts, with its position.
struct TOMLKeyPath {
    let leading: ArraySlice<ByteText>
    let last: ByteText
    let position: TOMLPosition

    /// Returns the error that the key was already set at `first`.
    fileprivate func isTaken(since first: TOMLPosition) -> TOMLError {
        let name = (leading + [last]).map(\.text).joined(separator: ".")
        return TOMLError(
            position: position,
            message: "duplicate key \"\(name)\" (first on line \(first.line))"
        )
    }
}
