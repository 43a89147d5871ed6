// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import TOML

/// The public suite for readers of TOML 1.0 (https://github.com/toml-lang/toml-test), whole, as Debian's
/// `golang-github-burntsushi-toml-dev` brings it.
@Suite(.enabled(if: !TOMLConformance.names("valid").isEmpty, "install golang-github-burntsushi-toml-dev"))
struct TOMLConformanceTests {
    @Test func `the suite is whole`() {
        #expect(TOMLConformance.names("valid").count >= 100)
        #expect(TOMLConformance.names("invalid").count >= 234)
    }

    /// All valid texts except that with `\e`, which is an escape of TOML 1.1.
    @Test(arguments: TOMLConformance.names("valid").filter { $0 != "valid/string/escape-esc" })
    func `a text is read as what it means`(name: String) throws {
        let text = try #require(File.bytes(TOMLConformance.directory + name + ".toml"))
        let meaning = try #require(File.bytes(TOMLConformance.directory + name + ".json"))
        let expected = try JSONValue(parsing: meaning)
        #expect(TOMLConformance.means(.table(try TOMLTable(parsing: text)), expected))
    }

    @Test(arguments: TOMLConformance.names("invalid"))
    func `a text that is not TOML is refused`(name: String) throws {
        let text = try #require(File.bytes(TOMLConformance.directory + name + ".toml"))
        #expect(throws: TOMLError.self) { try TOMLTable(parsing: text) }
    }
}

private enum TOMLConformance {
    static let directory = "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests/"

    /// The texts of the suite for TOML 1.0, or `nil` for editions before TOML 1.1, which have no such list.
    private static let listed = File.text(directory + "files-toml-1.0.0").map { text in
        Set(text.split(separator: "\n").map(String.init))
    }

    /// Returns the paths of the texts below `folder`, without their extension.
    static func names(_ folder: String) -> [String] {
        File.names(in: directory + folder).flatMap { name in
            let path = "\(folder)/\(name)"
            guard name.hasSuffix(".toml") else { return names(path) }
            return listed?.contains(path) == false ? [] : [String(path.dropLast(5))]
        }
    }

    /// Returns `true` if the value is the expected one.
    ///
    /// The suite writes simple values as objects of a type and a text.
    static func means(_ content: TOMLValue.Content, _ expected: JSONValue) -> Bool {
        switch (content, expected) {
        case (.array(let values), .array(let elements)):
            return values.count == elements.count
                && zip(values, elements).allSatisfy { means($0.content, $1) }
        case (.table(let table), .object(let object)):
            return table.entries.count == object.members.count
                && object.members.allSatisfy { member in
                    table[member.name].map { means($0.content, member.value) } ?? false
                }
        case (_, .object(let tagged)):
            guard let type = tagged["type"]?.string, let text = tagged["value"]?.string else { return false }
            return means(content, type, text)
        default: return false
        }
    }

    private static func means(_ content: TOMLValue.Content, _ type: String, _ text: String) -> Bool {
        switch (content, type) {
        case (.string(let string), "string"): string.bytewise == text.bytewise
        case (.integer(let integer), "integer"): integer == Int64(text)
        case (.boolean(let boolean), "bool"): boolean == Bool(text)
        case (.float(let float), "float"):
            float == Double(text) || float.isNaN && Double(text)?.isNaN == true
        // The configuration has no dates, so the parser does not compute their instants.
        case (.dateTime, "datetime"), (.dateTime, "datetime-local"), (.dateTime, "date-local"),
            (.dateTime, "time-local"):
            true
        default: false
        }
    }
}
