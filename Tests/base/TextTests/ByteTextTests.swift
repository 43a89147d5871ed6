// SPDX-License-Identifier: MIT

import Testing
import Text

@Suite struct ByteTextTests {
    /// Equal to `String`, as Unicode calls them equivalent.
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"
    private static let kelvin = "\u{212A}"

    @Test func `texts are the same only if their bytes are`() {
        #expect(Self.composed.bytewise == "caf\u{E9}")
        #expect(Self.composed.bytewise != Self.decomposed.bytewise)
        #expect(Set([Self.composed, Self.decomposed].map(\.bytewise)).count == 2)
        #expect(Self.kelvin.bytewise != "K")
    }

    @Test func `only A to Z have a lower case`() {
        #expect("BeArEr".bytewise.lowercased == "bearer")
        #expect("\(Self.kelvin)\u{C4}Z".bytewise.lowercased == "\u{212A}\u{C4}z")
    }

    @Test func `a blank separates even before a combining mark`() {
        #expect(" a \u{301}b ".bytewise.split(on: " ").map(\.bytewise) == ["a", "\u{301}b"])
        #expect("".bytewise.split(on: " ").isEmpty)
        #expect(" a".bytewise.split(on: " ", omittingEmpty: false).map(\.bytewise) == ["", "a"])
    }

    @Test func `no more than so many splits are made`() {
        #expect("a:b:c".bytewise.split(on: ":", maxSplits: 1).map(String.init) == ["a", "b:c"])
    }

    @Test func `a part is found where its bytes stand`() {
        #expect("Refresh Token has expired".bytewise.contains("Token"))
        #expect("aab".bytewise.contains("ab"))
        #expect(!"Toke".bytewise.contains("Token"))
        #expect("".bytewise.contains(""))
        // `String` finds no `e` here, as it has a mark.
        #expect(Self.decomposed.bytewise.contains("cafe"))
    }

    @Test func `a beginning and an end are bytes`() {
        #expect(Self.decomposed.bytewise.hasPrefix("cafe"))
        #expect("x.example.com".bytewise.hasSuffix(".example.com"))
        #expect(!"com".bytewise.hasSuffix(".com"))
        #expect(!"a".bytewise.hasPrefix("ab"))
    }

    /// A megabyte of marks in an order that has to be sorted: `String` needs minutes for the first line.
    @Test(.timeLimit(.minutes(10)))
    func `nothing takes longer than its bytes`() {
        let marks = String(repeating: "\u{301}\u{323}", count: 1 << 18)
        let others = String(repeating: "\u{323}\u{301}", count: 1 << 18)
        #expect(marks.bytewise != others.bytewise)
        #expect(Set([marks.bytewise, others.bytewise]).count == 2)
        #expect(marks.bytewise.lowercased == marks.bytewise)
        #expect(marks.bytewise.split(on: " ").count == 1)
        #expect(!marks.bytewise.contains("invalid_grant"))
        #expect(!marks.bytewise.hasPrefix(others.bytewise))
    }
}
