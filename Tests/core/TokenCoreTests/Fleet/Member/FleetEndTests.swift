// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Late responses and stored results for a login that has ended.
@Suite struct FleetEndTests {
    @Test func `a late answer rescues a login whose token expired, and none that is too old`() {
        let record = FleetHeader.record()
        let late = LateResponse.late(parent: 5)
        #expect(LateResultAction(of: late, beside: record.refused(.refreshTokenExpired)) == .adopt)
        #expect(LateResultAction(of: late, beside: record.refused(.sessionTooOld)) == .erase)
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        let rows: [(EndReason, StoredResultAction)] = [
            (.refreshTokenExpired, .place), (.sessionTooOld, .forget),
        ]
        for (reason, settlement) in rows {
            let dead = record.refused(reason)
            let found = StoredResultAction(of: answer, in: .knowing(dead, answer: answer), .showing(dead))
            #expect(found == settlement)
        }
    }
}
