// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// `tokenagent-clients(7)` tells the same of every program.
    @Suite struct ClientPageTests {
        @Test func `forty programs have their lines, and what is seen when they fail`() throws {
            let page = try #require(File.text("\(BuiltPrograms.checkout)/man/tokenagent-clients.7"))
            let programs = page.split(separator: "\n.Ss ").dropFirst().filter {
                !$0.hasPrefix("Token files\n")
            }
            #expect(programs.count >= 40)
            for program in programs {
                let name = program.prefix { $0 != "\n" }
                for part in [".Bd -literal", ".It Login needed\n", ".It Rejected token\n", ".It Tried\n"] {
                    #expect(program.contains(part), "\(name) lacks \(part)")
                }
            }
            #expect(Set(programs.map { $0.prefix { $0 != "\n" } }).count == programs.count)
        }
    }
}
