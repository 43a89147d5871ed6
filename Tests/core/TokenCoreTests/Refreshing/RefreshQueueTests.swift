// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Sessions of one issuer, whose attempts go through the queue.
private final class Line {
    static let issuer = "https://id.example"

    var queue = RefreshQueue()
    var scripts: [SessionScript]

    init(of count: Int) {
        scripts = (0..<count).map { SessionScript.ready(name: "s\($0)") }
    }

    func name(_ number: Int) -> SessionName { scripts[number].session.name }

    func stage(_ number: Int) -> RefreshQueue.Stage? { queue.stage(of: name(number)) }

    /// Requests a refresh of a session and queues its first step.
    func begin(_ number: Int) throws -> [RefreshQueue.Action] {
        let moment = scripts[number].moment
        let effects = scripts[number].session.refreshRequested(
            by: WaiterID(rawValue: UInt64(number)),
            rejecting: nil,
            deadline: moment.now + .seconds(30),
            at: moment
        )
        guard case .reserve(let attempt, let snapshot) = try #require(effects.first) else {
            Issue.record("\(effects)")
            return []
        }
        return want(.reserve(attempt, snapshot), of: number)
    }

    func want(_ step: RefreshQueue.NextStep, of number: Int) -> [RefreshQueue.Action] {
        let script = scripts[number]
        return queue.requested(step, by: script.session, at: Self.issuer, now: script.moment.now)
    }

    func admit(after seconds: Int64 = 0) -> [RefreshQueue.Action] {
        let attempts = Dictionary(
            uniqueKeysWithValues: scripts.map { ($0.session.name, $0.session.attemptInFlight) }
        )
        let now = scripts[0].moment.now + .seconds(seconds)
        return queue.admit(at: Self.issuer, now: now) { attempts[$0] ?? nil }
    }

    func nextReservation() -> RefreshQueue.ReservationRequest? { queue.nextReservation() }

    /// Grants the next reservation, after which the session requests to send.
    func reserve() throws -> (number: Int, step: RefreshQueue.NextStep) {
        let next = try #require(nextReservation())
        let number = try #require(scripts.firstIndex { $0.session.name == next.session })
        #expect(stage(number) == .reserving)
        let moment = scripts[number].moment
        let effects = scripts[number].session.reservationFinished(
            next.attempt,
            .granted(),
            jitter: 0,
            at: moment
        )
        queue.reservationEnded()
        guard case .refresh(let request) = try #require(effects.first) else {
            throw StorageFailure(message: "\(effects)")
        }
        return (number, .send(request))
    }

    func end(_ step: RefreshQueue.NextStep, of number: Int, _ failure: RefreshFailure? = nil) -> String? {
        queue.ended(step.attempt, of: name(number), failure, now: scripts[number].moment.now)
    }
}

extension SessionScript {
    /// The user logs out, and logs in again.
    fileprivate mutating func logInAnew() {
        _ = session.logoutRequested(local: true, at: moment)
        let login = LoginNumber(rawValue: 2)
        _ = session.loginStarted(login, at: moment)
        commitAll(session.loginFinished(login, .granted(loginGrant()), jitter: 0, at: moment))
    }
}

@Suite struct RefreshQueueTests {
    @Test func `an attempt is let in once for all its steps`() throws {
        let line = Line(of: 1)
        #expect(line.stage(0) == nil)
        #expect(try line.begin(0).isEmpty)
        #expect(line.stage(0) == .held)
        #expect(line.admit().isEmpty)
        #expect(line.stage(0) == .admitted)
        let step = try line.reserve().step
        let actions = line.want(step, of: 0)
        guard case .send(let name, let request) = try #require(actions.first) else {
            Issue.record("\(actions)")
            return
        }
        #expect(actions.count == 1 && name == line.name(0) && step == .send(request))
        #expect(line.stage(0) == .sent)
        #expect(line.end(step, of: 0) == Line.issuer)
        #expect(line.stage(0) == nil)
        // The response to an attempt that has ended is ignored.
        #expect(line.end(step, of: 0) == nil)
    }

    @Test func `a shared session asks the other hosts first, and yields to one that is at it`() throws {
        let line = Line(of: 1)
        line.scripts[0].session.policyChanged(SessionPolicy(isShared: true))
        _ = try line.begin(0)
        let asked = line.admit()
        guard case .ask(let reservation) = try #require(asked.first) else {
            Issue.record("\(asked)")
            return
        }
        #expect(line.nextReservation() == nil)
        #expect(line.queue.yielded(reservation.attempt, of: line.name(0)) == Line.issuer)
        #expect(line.stage(0) == nil)
        #expect(line.want(.reserve(reservation.attempt, reservation.snapshot), of: 0).isEmpty)
        #expect(line.admit() == asked)
        line.queue.granted(reservation)
        #expect(line.nextReservation() == reservation)
        #expect(line.stage(0) == .reserving)
    }

    @Test func `room is made for one attempt at a time, in the order they were let in`() throws {
        let line = Line(of: 3)
        for number in 0..<3 { _ = try line.begin(number) }
        _ = line.admit()
        let first = try #require(line.nextReservation())
        #expect(line.nextReservation() == nil)
        #expect(line.queue.count(at: .reserving) == 1)
        #expect(line.queue.count(at: .admitted) == 2)
        line.queue.reservationEnded()
        let second = try #require(line.nextReservation())
        line.queue.reservationEnded()
        let third = try #require(line.nextReservation())
        #expect(Set([first, second, third].map(\.session)) == Set((0..<3).map(line.name)))
        line.queue.reservationEnded()
        #expect(line.nextReservation() == nil)
    }

    @Test func `an issuer bears four, and who has ended makes room for the next`() throws {
        let line = Line(of: 6)
        for number in 0..<6 { _ = try line.begin(number) }
        _ = line.admit()
        #expect(line.queue.count(at: .held) == 2)
        // Only the end of an attempt makes room, so no wake time is set.
        #expect(line.queue.wakeTime(of: Line.issuer, now: line.scripts[0].moment.now) == nil)
        let (number, step) = try line.reserve()
        _ = line.want(step, of: number)
        #expect(line.end(step, of: number) == Line.issuer)
        _ = line.admit()
        #expect(line.queue.count(at: .held) == 1)
    }

    @Test func `what its session gave up meanwhile is not let in, and takes nobody's place`() throws {
        let line = Line(of: 5)
        for number in 0..<5 { _ = try line.begin(number) }
        let moment = line.scripts[2].moment
        _ = line.scripts[2].session.logoutRequested(local: true, at: moment)
        #expect(line.admit() == [.abandon(line.name(2))])
        #expect(line.stage(2) == nil)
        #expect(line.queue.count(at: .admitted) == 4)
    }

    @Test func `an issuer that asks to be left alone has who waits told so, once`() throws {
        let line = Line(of: 2)
        _ = try line.begin(0)
        _ = line.admit()
        let step = try line.reserve().step
        _ = line.want(step, of: 0)
        let busy = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(60))
        #expect(line.end(step, of: 0, busy) == Line.issuer)
        _ = try line.begin(1)
        let attempt = try #require(line.scripts[1].session.attemptInFlight)
        let opening = line.scripts[1].moment.now + .seconds(60)
        #expect(line.admit() == [.postpone(line.name(1), attempt, until: opening)])
        #expect(line.stage(1) == nil)
        #expect(line.admit().isEmpty)
    }

    @Test func `a program that fails meanwhile does not end an issuer's pause`() throws {
        let line = Line(of: 3)
        for number in 0..<2 { _ = try line.begin(number) }
        _ = line.admit()
        let busy = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(60))
        for failure in [busy, RefreshFailure(kind: .sourceUnavailable, message: "no token")] {
            let (number, step) = try line.reserve()
            _ = line.want(step, of: number)
            #expect(line.end(step, of: number, failure) == Line.issuer)
        }
        _ = try line.begin(2)
        let attempt = try #require(line.scripts[2].session.attemptInFlight)
        let opening = line.scripts[2].moment.now + .seconds(60)
        #expect(line.admit() == [.postpone(line.name(2), attempt, until: opening)])
    }

    /// The failure of four sessions, and whether the fifth is admitted anyway.
    @Test(arguments: [(FailureClass.sourceUnavailable, true), (.busy, false)])
    func `an issuer's other sessions are held up by its own trouble, not by a program that fails`(
        kind: FailureClass,
        isLetIn: Bool
    ) throws {
        let line = Line(of: 5)
        for number in 0..<4 { _ = try line.begin(number) }
        _ = line.admit()
        for _ in 0..<4 {
            let (number, step) = try line.reserve()
            _ = line.want(step, of: number)
            let failure = RefreshFailure(kind: kind, message: "no token")
            #expect(line.end(step, of: number, failure) == Line.issuer)
        }
        _ = try line.begin(4)
        _ = line.admit()
        #expect(line.stage(4) == (isLetIn ? .admitted : .held))
    }

    /// Returns a session with an old request in flight and with the first step of a new attempt in the queue.
    private func loggedInAnew() throws -> (Line, old: RefreshQueue.NextStep) {
        let line = Line(of: 1)
        _ = try line.begin(0)
        _ = line.admit()
        let old = try line.reserve().step
        _ = line.want(old, of: 0)
        line.scripts[0].logInAnew()
        _ = try line.begin(0)
        return (line, old)
    }

    @Test func `a new login's attempt waits although the old one's request is out, and outlives its answer`()
        throws
    {
        let (line, old) = try loggedInAnew()
        #expect(line.stage(0) == .held)
        _ = line.admit()
        #expect(line.stage(0) == .admitted)
        #expect(line.end(old, of: 0) == nil)
        #expect(line.stage(0) == .admitted)
    }

    @Test func `an old request's end makes room for the new login's attempt`() throws {
        let (line, old) = try loggedInAnew()
        #expect(line.end(old, of: 0) == Line.issuer)
        #expect(line.queue.count(at: .sent) == 0)
        _ = line.admit()
        #expect(line.stage(0) == .admitted)
    }

    @Test func `a lock lets go of what is held and counted, and the late answer means nothing`() throws {
        let line = Line(of: 5)
        for number in 0..<5 { _ = try line.begin(number) }
        _ = line.admit()
        let (number, step) = try line.reserve()
        line.queue.forget()
        #expect((0..<5).allSatisfy { line.stage($0) == nil })
        #expect(line.end(step, of: number) == nil)
        #expect(line.queue.issuers.isEmpty)
    }
}
