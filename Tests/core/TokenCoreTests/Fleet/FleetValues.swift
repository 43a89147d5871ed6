// SPDX-License-Identifier: MIT

@testable import TokenCore

/// Short names for what the tables of the fleet are about: the login 1, its generation 5 by attempt 50, and so on.
extension FleetHeader {
    static func record(
        _ generation: UInt64 = 5,
        login: UInt64 = 1,
        id: UInt128 = 1,
        attempt: UInt64? = nil,
        _ status: LoginStatus = .live,
        proven: UInt64? = nil,
        mark: UInt64? = nil,
        cluster: UInt64 = 1
    ) -> FleetHeader {
        FleetHeader(
            lineage: Lineage(number: login, id: id),
            generation: generation,
            attempt: .number(attempt ?? generation * 10),
            status: status,
            proven: proven ?? max(generation, 1) - 1,
            tokenMark: mark ?? attempt ?? generation * 10,
            cluster: cluster
        )
    }
}

extension AttemptID {
    static func number(_ number: UInt64) -> AttemptID { AttemptID(host: 1, random: number) }
}

extension FleetIntent {
    /// An attempt with the refresh token of `record`, made `age` seconds before the time of ``FleetSnapshot/showing(_:_:lock:lates:cluster:revision:)``.
    static func attempt(
        _ attempt: UInt64,
        for record: FleetHeader = .record(),
        age: Int64 = 0,
        first: Int64? = nil,
        before: [UInt64] = []
    ) -> FleetIntent {
        FleetIntent(
            lineage: record.lineage,
            generation: record.generation,
            attempt: .number(attempt),
            at: FleetTime(seconds: FleetSnapshot.moment.seconds - age),
            first: FleetTime(seconds: FleetSnapshot.moment.seconds - (first ?? age)),
            before: before.map(AttemptID.number)
        )
    }
}

extension LateResponse {
    static func late(
        parent: UInt64,
        login: UInt64 = 1,
        attempt: UInt64 = 77,
        mark: UInt64? = nil
    ) -> LateResponse {
        LateResponse(
            lineage: Lineage(number: login, id: 1),
            parent: parent,
            attempt: .number(attempt),
            tokenMark: mark ?? attempt,
            cluster: 1
        )
    }
}

extension FleetSnapshot {
    static let moment = FleetTime(seconds: 1_800_000_000)

    static func showing(
        _ record: FleetHeader?,
        _ intent: FleetIntent? = nil,
        lock: UInt64? = nil,
        lateResults: [LateResponse] = [],
        cluster: UInt64 = 1,
        revision: Int64 = 100
    ) -> FleetSnapshot {
        FleetSnapshot(
            record: record,
            intent: intent,
            lock: lock.map(AttemptID.number),
            lateResults: lateResults,
            place: FleetRevision(cluster: cluster, revision: revision),
            time: moment
        )
    }
}

extension FleetPersistentState {
    static func knowing(
        _ record: FleetHeader?,
        isUnpublished: Bool = false,
        answer: StoredRefreshResult? = nil
    ) -> FleetPersistentState {
        var memory = FleetPersistentState()
        memory.record = record
        memory.isUnpublished = isUnpublished
        memory.answer = answer
        memory.place = FleetRevision(cluster: 1, revision: 90)
        return memory
    }
}

extension SessionScript {
    /// The record of another host, with a token of an hour obtained now.
    func record(
        standing: SessionSnapshot.LoginState = .loggedIn,
        renewal: RenewalMethod = .refreshToken(SecretID(rawValue: 801))
    ) -> SessionSnapshot {
        let token = AccessToken(
            secret: SecretID(rawValue: 800),
            idToken: nil,
            tokenType: "Bearer",
            scope: [],
            obtainedAt: moment.now,
            expiresAt: moment.now + .seconds(3_600),
            jitter: 0.9
        )
        return SessionSnapshot(
            standing: standing,
            renewal: renewal,
            tokens: [.primary: token],
            loggedInAt: moment.wallTime,
            tokenEndpoint: "https://id.example/token"
        )
    }
}
