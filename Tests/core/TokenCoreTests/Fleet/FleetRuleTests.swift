// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// The rules of the fleet, a row for each case.
@Suite struct FleetRuleTests {
    // MARK: The order of records

    @Test(
        arguments: [
            (FleetHeader.record(5), FleetHeader.record(5), RecordOrdering.same),
            (nil, nil, .same),
            (.record(5), nil, .newer),
            (nil, .record(5), .older),
            (.record(6), .record(5), .newer),
            (.record(4), .record(5), .older),
            // The later login beats any generation.
            (.record(0, login: 2), .record(9), .newer),
            (.record(9), .record(0, login: 2), .older),
            // Of one login, a logout beats any generation.
            (.record(3, .out), .record(9), .newer),
            (.record(9), .record(3, .out), .older),
            (.record(4, .out), .record(3, .out), .newer),
            // A logout of the old login says nothing of the new one.
            (.record(9, .out), .record(0, login: 2), .older),
            // Two logins with one number: the one that came to etcd first.
            (.record(0, login: 2, id: 8), .record(0, login: 2, id: 9), .newer),
            // As old, but not the same: etcd's counts, and the other's tokens may be the good ones.
            (
                .record(5, attempt: 51, .dead(.grantDead)), .record(5),
                .beside(.late(parent: 4, attempt: 50))
            ),
            (.record(5, attempt: 51), .record(5), .beside(.late(parent: 4, attempt: 50))),
            (.record(5, attempt: 51, mark: 50), .record(5), .beside(nil)),
            (.record(5, attempt: 51), .record(5, .dead(.grantDead)), .beside(nil)),
        ] as [(FleetHeader?, FleetHeader?, RecordOrdering)]
    )
    func `the order of records`(etcd: FleetHeader?, own: FleetHeader?, standing: RecordOrdering) {
        #expect(RecordOrdering(of: etcd, to: own) == standing)
    }

    // MARK: Own answers

    /// The answer 60 to the refresh token of generation 5.
    private static let answer = StoredRefreshResult(
        parent: .record(5),
        intent: .attempt(60),
        tokenMark: 60,
        cluster: 1
    )

    @Test(
        arguments: [
            // Nobody came between.
            (FleetHeader.record(5), FleetIntent.attempt(60), [], StoredResultAction.commit),
            // Another attempt has taken over, or nothing is known of ours.
            (.record(5), .attempt(61), [], .place),
            (.record(5), nil, [], .place),
            // It was committed, and the answer of etcd was lost.
            (.record(6, attempt: 60), nil, [], .forget),
            // The server gave the same successor twice.
            (.record(6, attempt: 61, mark: 60), nil, [], .forget),
            // A sibling, or a death declared meanwhile.
            (.record(6, attempt: 61, proven: 5), nil, [], .place),
            (.record(6, attempt: 50, .dead(.replyLost), proven: 4), nil, [], .place),
            (.record(8, attempt: 50, .dead(.replyLost), proven: 4), nil, [], .place),
            // A refresh of a younger token has worked.
            (.record(7, attempt: 70, proven: 6), nil, [], .forget),
            // It lies there already, and this host does not know yet.
            (.record(6, attempt: 61, proven: 5), nil, [.late(parent: 5, attempt: 60)], .place),
            // A logout or a later login.
            (.record(6, .out), nil, [], .revoke),
            (.record(0, login: 2), nil, [], .revoke),
            (.record(0, login: 1, id: 9), nil, [], .revoke),
            // A restored snapshot.
            (.record(4), nil, [], .afterWriting),
            (nil, nil, [], .afterWriting),
        ] as [(FleetHeader?, FleetIntent?, [LateResponse], StoredResultAction)]
    )
    func `what becomes of an answer`(
        record: FleetHeader?,
        intent: FleetIntent?,
        lateResults: [LateResponse],
        settlement: StoredResultAction
    ) {
        let memory = FleetPersistentState.knowing(.record(5), answer: Self.answer)
        #expect(
            StoredResultAction(
                of: Self.answer,
                in: memory,
                .showing(record, intent, lateResults: lateResults)
            )
                == settlement
        )
    }

    @Test(arguments: [
        // The old login is live for the others until etcd has the news.
        (FleetHeader.record(0, login: 2), true, FleetHeader.record(5), StoredResultAction.afterWriting),
        (.record(6, .out), true, .record(5), .afterWriting),
        (.record(0, login: 2), false, .record(5), .revoke),
        (.record(6, .out), false, .record(5), .revoke),
        // An earlier login in etcd is a restored snapshot's: nothing is revoked for that.
        (.record(5, login: 1), false, .record(9, login: 0), .afterWriting),
    ])
    func `what becomes of an answer after news of this host`(
        own: FleetHeader,
        isUnpublished: Bool,
        record: FleetHeader,
        settlement: StoredResultAction
    ) {
        let memory = FleetPersistentState.knowing(own, isUnpublished: isUnpublished, answer: Self.answer)
        #expect(StoredResultAction(of: Self.answer, in: memory, .showing(record)) == settlement)
    }

    @Test(
        arguments: [
            (1, [LateResponse.late(parent: 5, attempt: 60)], StoredResultAction.wait),
            (1, [], .forget),
            // Laid down in the etcd of before.
            (2, [], .place),
        ] as [(UInt64, [LateResponse], StoredResultAction)]
    )
    func `an answer that was laid down is laid down again after a restore`(
        cluster: UInt64,
        lateResults: [LateResponse],
        settlement: StoredResultAction
    ) {
        var answer = Self.answer
        answer.placedIn = 1
        let record = FleetHeader.record(6, attempt: 50, .dead(.replyLost), proven: 4)
        let view = FleetSnapshot.showing(record, lateResults: lateResults, cluster: cluster)
        #expect(StoredResultAction(of: answer, in: .knowing(record, answer: answer), view) == settlement)
    }

    // MARK: Late answers

    @Test(arguments: [
        // It takes the place of what was sent for it, of nothing younger.
        (LateResponse.late(parent: 5), FleetHeader.record(5), LateResultAction.adopt),
        (.late(parent: 5), .record(6, proven: 5), .keep),
        (.late(parent: 5), .record(7, proven: 6), .erase),
        // Of a dead record, whatever has not been proven to be old.
        (.late(parent: 4), .record(6, .dead(.replyLost), proven: 4), .adopt),
        (.late(parent: 5), .record(9, .dead(.replyLost), proven: 4), .adopt),
        (.late(parent: 3), .record(6, .dead(.replyLost), proven: 4), .erase),
        // The very token that the record has.
        (.late(parent: 5, mark: 50), .record(5), .erase),
        (.late(parent: 5), .record(6, .out), .erase),
        (.late(parent: 5), .record(0, login: 2), .erase),
        // Of a later login, which is about to be put back.
        (.late(parent: 5, login: 2), .record(5), .keep),
    ])
    func `what becomes of a late answer`(late: LateResponse, record: FleetHeader, lateness: LateResultAction)
    {
        #expect(LateResultAction(of: late, beside: record) == lateness)
    }

    @Test func `a late answer waits while a younger one to the same token may be on its way`() {
        let late = LateResponse.late(parent: 5)
        let grace = FleetTiming(reuse: .acceptedFor(.seconds(30)))
        let view = FleetSnapshot.showing(
            .record(5),
            .attempt(80, age: 100, before: [77]),
            lateResults: [late]
        )
        #expect(view.nextAdoption(grace) == nil)
        #expect(view.hasAnswer(to: .record(5)))
        // Where nothing is accepted again, the other attempt has brought nothing.
        #expect(view.nextAdoption(FleetTiming(reuse: .refused)) == late)
        let patient = FleetSnapshot.showing(
            .record(5),
            .attempt(80, age: 120, before: [77]),
            lateResults: [late]
        )
        #expect(patient.nextAdoption(grace) == late)
        // The server has refused the other attempt, but not the one between the two.
        var refused = FleetIntent.attempt(80, age: 5, before: [77]).refused
        #expect(FleetSnapshot.showing(.record(5), refused, lateResults: [late]).nextAdoption(grace) == late)
        refused.before.append(.number(78))
        #expect(FleetSnapshot.showing(.record(5), refused, lateResults: [late]).nextAdoption(grace) == nil)
    }

    @Test func `of several late answers the one of the latest parent is tried first`() {
        let lateResults = [
            LateResponse.late(parent: 4, attempt: 1), .late(parent: 5, attempt: 3),
            .late(parent: 5, attempt: 2),
        ]
        let view = FleetSnapshot.showing(.record(6, .dead(.replyLost), proven: 4), lateResults: lateResults)
        #expect(view.nextAdoption(FleetTiming(reuse: .refused)) == lateResults[2])
    }

    @Test func `a transaction says which login it replaces`() {
        let (old, new) = (FleetHeader.record(5), FleetHeader.record(0, login: 2, id: 2))
        func replaced(_ old: FleetHeader?, by new: FleetHeader) -> FleetHeader? {
            FleetWrite.write(new, over: old, nil).transaction.replacedLogin
        }
        #expect(replaced(old, by: new) == old)
        #expect(replaced(nil, by: new) == nil)
        #expect(replaced(old.loggedOut(), by: new) == nil)
        // A refresh, a repair and a logout replace none.
        #expect(replaced(old, by: .record(6)) == nil)
        #expect(replaced(old, by: old.loggedOut()) == nil)
    }
}
