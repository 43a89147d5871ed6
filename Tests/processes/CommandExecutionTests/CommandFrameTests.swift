// SPDX-License-Identifier: MIT

import Testing

@testable import CommandExecution

struct CommandFrameTests {
    static let request = CommandRequest(
        number: 7,
        table: CommandTable([CommandTable.Entry(words: ["pass"])]).digest,
        index: 3,
        order: .increment,
        variables: [.session: "work", .reason: "", .peerProgram: "/opt/clé with space"],
        timeLimit: .milliseconds(1500)
    )

    @Test func `a request comes out as it went in`() {
        #expect(CommandRequest(payload: Array(Self.request.frame.dropFirst(5))) == Self.request)
    }

    @Test func `the length in front counts what follows`() {
        let frame = Self.request.frame
        #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == frame.count - 4)
    }

    @Test(arguments: [
        CommandReply(number: 1, outcome: .ended(status: 0, output: [0, 255, 10])),
        CommandReply(number: .max, outcome: .ended(status: 137, output: [])),
        CommandReply(number: 4, outcome: .ended(status: 2, output: [1]), errors: [27, 0, 255]),
        CommandReply(number: 3, outcome: .failed(ProgramFailure(message: "cannot run x: No such file"))),
    ])
    func `a reply comes out as it went in`(reply: CommandReply) {
        #expect(CommandReply(payload: Array(reply.frame.dropFirst(4))) == reply)
    }

    @Test func `a payload cut short or with a byte too many is refused`() {
        let payload = Array(Self.request.frame.dropFirst(5))
        for count in 0..<payload.count {
            #expect(CommandRequest(payload: Array(payload.prefix(count))) == nil)
        }
        #expect(CommandRequest(payload: payload + [0]) == nil)
    }

    @Test func `a variable of no known kind, a doubled one or a long one is refused`() {
        let payload = Array(Self.request.frame.dropFirst(5))
        let first = 8 + 32 + 4 + 4 + 1 + 1
        for kind in [0, CommandEnvironmentVariable.reason.rawValue, 200, 255] {
            var changed = payload
            changed[first] = kind
            #expect(CommandRequest(payload: changed) == nil, "\(kind)")
        }
        var long = Self.request
        long.variables[.reason] = String(
            repeating: "x",
            count: CommandEnvironmentVariable.maximumValueLength + 1
        )
        #expect(CommandRequest(payload: Array(long.frame.dropFirst(5))) == nil)
    }

    @Test func `a table comes out as it went in, and its digest is that of its bytes`() {
        let long = String(repeating: "ä", count: 300)
        let table = CommandTable([
            CommandTable.Entry(words: ["pass", "show", long]),
            CommandTable.Entry(words: ["tpm"], takesOrder: true),
        ])
        #expect(CommandTable(encoded: table.encoded) == table)
        for count in 2..<table.encoded.count where count != 1 + 1 + 2 + 4 + 4 + 4 + 4 + 4 + 600 {
            #expect(CommandTable(encoded: Array(table.encoded.prefix(count))) == nil, "\(count)")
        }
        #expect(CommandTable(encoded: [2]) == nil && CommandTable(encoded: []) == nil)
        // Of the one byte 1: sha256sum.
        let digits = CommandTable().digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(digits == "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a")
    }
}
