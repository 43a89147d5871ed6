// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

struct AllowRuleTests {
    private static let digest = String(repeating: "ab", count: 32)
    private static let git = PeerIdentity.Program(executable: "/usr/bin/git", digest: digest)
    private static let shell = PeerIdentity.Program(executable: "/usr/bin/dash")

    private static func facts(_ programs: [PeerIdentity.Program], unit: String? = nil) -> PeerIdentity {
        PeerIdentity(programs: programs, unit: unit, startedAt: .seconds(1))
    }

    static let table: [(rule: AllowRule, facts: PeerIdentity?, isAllowed: Bool)] = [
        (AllowRule(executable: "/usr/bin/git"), facts([git]), true),
        (AllowRule(executable: "/usr/bin/git"), facts([shell]), false),
        // tokenctl, asked by a shell that git started.
        (AllowRule(executable: "/usr/bin/git"), facts([shell, git]), true),
        (AllowRule(executable: "/usr/bin/git"), facts([]), false),
        (AllowRule(executable: "/usr/bin/git"), nil, false),
        (AllowRule(executable: "/usr/bin/gi"), facts([git]), false),
        (AllowRule(executable: "/usr/bin/git", digest: digest), facts([git]), true),
        (
            AllowRule(executable: "/usr/bin/git", digest: String(repeating: "00", count: 32)), facts([git]),
            false
        ),
        // The digest belongs to the program with which it is listed, not to another program of the peer.
        (AllowRule(executable: "/usr/bin/dash", digest: digest), facts([shell, git]), false),
        (AllowRule(unit: "backup.service"), facts([shell], unit: "backup.service"), true),
        (AllowRule(unit: "backup.service"), facts([shell], unit: "backup.servic"), false),
        (AllowRule(unit: "backup.service"), facts([shell]), false),
        (AllowRule(unit: "backup.service"), nil, false),
        (AllowRule(executable: "/usr/bin/git", unit: "x.scope"), facts([git]), false),
        (AllowRule(executable: "/usr/bin/git", unit: "x.scope"), facts([git], unit: "x.scope"), true),
        (AllowRule(asksForConfirmation: true), facts([shell]), true),
        (AllowRule(asksForConfirmation: true), nil, true),
    ]

    @Test(.holds("6"), arguments: table.indices)
    func `a rule describes a peer when all it names is so`(index: Int) {
        let (rule, facts, isAllowed) = Self.table[index]
        #expect(rule.allows(facts) == isAllowed)
    }

    @Test func `one rule that holds is enough, and one without a question is better`() {
        let rules = [AllowRule(executable: "/usr/bin/git"), AllowRule(asksForConfirmation: true)]
        #expect(rules.admission(of: Self.facts([Self.git])) == .allowed)
        #expect(rules.reversed().admission(of: Self.facts([Self.git])) == .allowed)
        #expect(rules.admission(of: Self.facts([Self.shell])) == .askingFirst)
        #expect(rules.admission(of: nil) == .askingFirst)
        #expect([rules[0]].admission(of: Self.facts([Self.shell])) == .hidden)
        #expect([AllowRule]().admission(of: nil) == .allowed)
    }
}
