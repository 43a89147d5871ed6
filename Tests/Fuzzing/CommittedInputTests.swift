// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The inputs from which the fuzzer starts, and those that once broke a parser.
struct CommittedInputTests {
    private static let corpora = "\(BuiltPrograms.checkout)/Tests/Fuzzing/Corpora"

    @Test(arguments: FuzzTarget.allCases)
    func `a parser keeps its word with every committed input`(target: FuzzTarget) throws {
        let directory = "\(Self.corpora)/\(target.rawValue)"
        let names = File.names(in: directory)
        #expect(!names.isEmpty)
        for name in names {
            // A word that is not kept ends the process, as it does in the fuzzer.
            target.run(try #require(File.bytes("\(directory)/\(name)")))
        }
    }

    @Test func `every directory of inputs has its parser`() {
        #expect(File.names(in: Self.corpora) == FuzzTarget.allCases.map(\.rawValue).sorted())
    }
}
