// SPDX-License-Identifier: MIT

import CommandExecution
import Testing
import TokenCore

struct CommandFrameTests {
    static let request = CommandRequest(
        number: 7,
        command: ["pass", "show", "clé with space"],
        environment: ["TOKENAGENT_SESSION": "work", "EMPTY": ""],
        timeLimit: .milliseconds(1500)
    )

    @Test func `a request comes out as it went in`() {
        #expect(CommandRequest(payload: Array(Self.request.frame.dropFirst(4))) == Self.request)
    }

    @Test func `the length in front counts what follows`() {
        let frame = Self.request.frame
        #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == frame.count - 4)
    }

    @Test(arguments: [
        CommandReply(number: 1, outcome: .success(CommandResult(status: 0, standardOutput: [0, 255, 10]))),
        CommandReply(number: .max, outcome: .success(CommandResult(status: 137, standardOutput: []))),
        CommandReply(number: 3, outcome: .failure(CommandFailure(message: "can not run x: No such file"))),
    ])
    func `a reply comes out as it went in`(reply: CommandReply) {
        #expect(CommandReply(payload: Array(reply.frame.dropFirst(4))) == reply)
    }

    @Test func `a payload cut short or with a byte too many is refused`() {
        let payload = Array(Self.request.frame.dropFirst(4))
        for count in 0..<payload.count {
            #expect(CommandRequest(payload: Array(payload.prefix(count))) == nil)
        }
        #expect(CommandRequest(payload: payload + [0]) == nil)
    }
}
