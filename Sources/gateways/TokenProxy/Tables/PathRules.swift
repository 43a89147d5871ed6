// SPDX-License-Identifier: MIT

import Text

/// The paths that a listener forwards, compared as the bytes they are written in.
struct PathRules: Equatable, Sendable {
    private let whole: [[UInt8]]
    private let beginnings: [[UInt8]]

    /// Parses patterns.
    ///
    /// A trailing `*` matches anything.
    init(_ patterns: [String]) {
        whole = patterns.filter { !$0.hasSuffix("*") }.map { Array($0.utf8) }
        beginnings = patterns.filter { $0.hasSuffix("*") }.map { Array($0.utf8.dropLast()) }
    }

    /// Whether there are any rules.
    var exist: Bool { !whole.isEmpty || !beginnings.isEmpty }

    /// Returns whether a path matches a rule.
    ///
    /// The path must be plain (``PathAmbiguity/isPlain(_:)``).
    func allow(_ path: ArraySlice<UInt8>) -> Bool {
        whole.contains { path.elementsEqual($0) } || beginnings.contains { path.starts(with: $0) }
    }
}
