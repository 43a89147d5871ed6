// SPDX-License-Identifier: MIT

import Testing

/// The rows of `Tests/promises.toml` that a test holds: promises (`54`) and requirements (`O17`).
///
/// `Scripts/promises` reads the numbers in the sources, runs the tests of each row, and lists them in
/// `docs/promises.md`.
package struct PromiseTrait: TestTrait {
    package let rows: [String]
}

extension Trait where Self == PromiseTrait {
    /// Says that the test must pass for each of these rows to be kept.
    package static func holds(_ rows: String...) -> Self { PromiseTrait(rows: rows) }
}
