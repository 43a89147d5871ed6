// SPDX-License-Identifier: MIT

import Text

/// Which paths a listener passes on, compared as the bytes they were written in.
struct PathRules: Equatable, Sendable {
    private let whole: [[UInt8]]
    private let beginnings: [[UInt8]]

    /// Takes patterns; a `*` at the end stands for anything.
    init(_ patterns: [String]) {
        whole = patterns.filter { !$0.hasSuffix("*") }.map { Array($0.utf8) }
        beginnings = patterns.filter { $0.hasSuffix("*") }.map { Array($0.utf8.dropLast()) }
    }

    /// Whether there are any.
    var exist: Bool { !whole.isEmpty || !beginnings.isEmpty }

    /// Whether a path, which ``isPlain(_:)`` found plain, fits one of them.
    func allow(_ path: ArraySlice<UInt8>) -> Bool {
        whole.contains { path.elementsEqual($0) } || beginnings.contains { path.starts(with: $0) }
    }
}
