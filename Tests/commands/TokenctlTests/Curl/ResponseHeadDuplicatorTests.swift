// SPDX-License-Identifier: MIT

import Testing

@testable import tokenctl_commands

/// The output if curl writes response heads twice.
struct ResponseHeadDuplicatorTests {
    private func taken(_ text: String, by heads: inout ResponseHeadDuplicator) -> String {
        String(decoding: heads.taken(Array(text.utf8)), as: UTF8.self)
    }

    @Test(arguments: ["\r\n", "\n"])
    func `a head is written twice as soon as its empty line is there`(end: String) {
        var heads = ResponseHeadDuplicator()
        heads.expect(Array("HTTP/1.1 200 OK\(end)".utf8))
        #expect(taken("HTTP/1.1 200 OK\(end)", by: &heads).isEmpty)
        heads.expect(Array("A: b\(end)\(end)".utf8))
        let status = "HTTP/1.1 200 OK\(end)"
        let all = status + status + "A: b\(end)A: b\(end)\(end)\(end)"
        #expect(taken("A: b\(end)\(end)body", by: &heads) == all + "body")
        #expect(taken("more\n\nof it", by: &heads) == "more\n\nof it")
    }

    @Test func `what cannot be the beginning of a head that goes on is written at once`() {
        var heads = ResponseHeadDuplicator()
        heads.expect(Array("HTTP/1.1 200 OK\r\nA: b".utf8))
        #expect(taken("body", by: &heads) == "body")
        // Only the end of the text may be the start of the expected head.
        #expect(taken("more HTTP/1.1", by: &heads) == "more ")
        #expect(taken("!", by: &heads) == "HTTP/1.1!")
        #expect(heads.rest().isEmpty)
    }

    @Test func `what follows a head that goes on waits for its end`() {
        var heads = ResponseHeadDuplicator()
        heads.expect(Array("A\n".utf8))
        #expect(taken("A\n\nbody", by: &heads).isEmpty)
        heads.expect(Array("\n".utf8))
        #expect(taken("!", by: &heads) == "A\nA\n\n\nbody!")
    }

    @Test func `a head that never ends holds back no more than a mebibyte`() {
        var heads = ResponseHeadDuplicator()
        heads.expect(Array("A\n".utf8))
        let output = Array("A\n".utf8) + [UInt8](repeating: 0, count: 1 << 20)
        #expect(heads.taken(output) == output)
    }
}
