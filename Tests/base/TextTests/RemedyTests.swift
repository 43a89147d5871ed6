// SPDX-License-Identifier: MIT

import Testing
import Text

@Suite struct RemedyTests {
    @Test func `a remedy has its label in front, in a line of its own or in parentheses`() {
        #expect(Remedy.run("tokenctl unlock").labelled == "Run: tokenctl unlock")
        #expect(Remedy.set("hosts").labelled == "Set: hosts")
        #expect(Remedy.see("ssh(1)").parenthesized == "(see: ssh(1))")
        #expect(Remedy.retry("in 30s").parenthesized == "(retry: in 30s)")
    }

    @Test(
        arguments: [
            ("no agent (run: tokenagent)", "no agent", Remedy.run("tokenagent")),
            ("a (b) (see: ssh(1))", "a (b)", .see("ssh(1)")),
            ("a (run: b) (set: c (d))", "a (run: b)", .set("c (d)")),
            ("nothing (helps)", "nothing (helps)", nil), ("", "", nil),
        ] as [(String, String, Remedy?)]
    )
    func `a remedy in parentheses is read again`(line: String, message: String, remedy: Remedy?) {
        let parts = Remedy.split(from: line)
        #expect(parts.message == message && parts.remedy == remedy)
    }

    @Test(arguments: [
        (Remedy.set("hosts"), Remedy.set("hosts, then run tokenctl reload")),
        (.run("az login"), .run("az login && tokenctl reload")),
        (.set("a, then run b"), .set("a, then run b && tokenctl reload")),
        (.set("hosts, then run tokenctl reload"), .set("hosts, then run tokenctl reload")),
    ])
    func `a second step is added once`(first: Remedy, both: Remedy) {
        #expect(first.followed(by: "tokenctl reload") == both)
    }
}
