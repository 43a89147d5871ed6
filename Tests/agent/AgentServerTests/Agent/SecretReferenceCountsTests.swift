// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import AgentServer

@Suite struct SecretReferenceCountsTests {
    private let one = SecretID(rawValue: 1)
    private let two = SecretID(rawValue: 2)

    @Test func `what nobody works with is erased at once`() {
        var lent = SecretsInFlight()
        let before = lent.mayErase(one)
        lent.retain([one])
        let free = lent.release([one])
        let after = lent.mayErase(one)
        #expect(before && after && free.isEmpty)
    }

    @Test func `what a request works with is erased after the last one`() {
        var lent = SecretsInFlight()
        lent.retain([one, two])
        lent.retain([one])
        let mayErase = [lent.mayErase(one), lent.mayErase(two)]
        #expect(mayErase == [false, false])
        let first = lent.release([one, two])
        let last = lent.release([one])
        #expect(first == [two] && last == [one])
        let isFree = lent.mayErase(one)
        #expect(isFree)
    }
}
