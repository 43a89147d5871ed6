// SPDX-License-Identifier: MIT

import Testing

@testable import Text

/// Streams of lines.
struct LineCutterTests {
    @Test func `a stream is cut into lines however it comes`() {
        let text = Array("{\"a\":1}\n\nb\r\n\u{301}\n{\"c\"".utf8)
        for size in 1...text.count {
            var cutter = LineCutter()
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                cutter.append(Array(text[start..<min(text.count, start + size)]))
                while let line = cutter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(lines == [#"{"a":1}"#, "", "b\r", "\u{301}"])
            #expect(cutter.heldCount == 4)
            cutter.forget()
            let line = cutter.next()
            #expect(line == nil && cutter.heldCount == 0)
        }
    }

    /// To move what is left, for each line, would be half a terabyte.
    @Test(.timeLimit(.minutes(1))) func `a million lines that come at once cost what they hold`() {
        var cutter = LineCutter()
        cutter.append([UInt8](repeating: 0x0A, count: 1_000_000))
        var count = 0
        while let line = cutter.next() {
            count += 1
            if !line.isEmpty { Issue.record("a line of nothing holds something") }
        }
        #expect(count == 1_000_000 && cutter.heldCount == 0)
    }
}
