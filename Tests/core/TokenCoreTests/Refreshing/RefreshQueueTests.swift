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

    /// Requests a refresh of a session, and queues its attempt.
    @discardableResult
    func begin(_ number: Int) throws -> AttemptNumber {
        let moment = scripts[number].moment
        let effects = scripts[number].session.refreshRequested(
            by: WaiterID(rawValue: UInt64(number)),
            rejecting: nil,
            deadline: moment.now + .seconds(30),
            at: moment
        )
        let attempt = try #require(effects.begun)
        queue.requested(attempt, by: scripts[number].session, at: Self.issuer, now: moment.now)
        return attempt
    }

    func admit(after seconds: Int64 = 0) -> [RefreshQueue.Action] {
        let attempts = Dictionary(
            uniqueKeysWithValues: scripts.map { ($0.session.name, $0.session.attemptInFlight) }
        )
        let now = scripts[0].moment.now + .seconds(seconds)
        return queue.admit(at: Self.issuer, now: now) { attempts[$0] ?? nil }
    }

    func admitted(_ number: Int, _ attempt: AttemptNumber) -> [RefreshQueue.Action] {
        [.admit(name(number), attempt)]
    }

    func end(_ attempt: AttemptNumber, of number: Int, _ failure: RefreshFailure? = nil) -> String? {
        queue.ended(attempt, of: name(number), failure, now: scripts[number].moment.now)
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
    @Test func `an attempt is let in once, until it has ended`() throws {
        let line = Line(of: 1)
        #expect(line.stage(0) == nil)
        let attempt = try line.begin(0)
        #expect(line.stage(0) == .held && !line.queue.isAdmitted(attempt, of: line.name(0)))
        #expect(line.admit() == line.admitted(0, attempt))
        #expect(line.stage(0) == .admitted && line.queue.isAdmitted(attempt, of: line.name(0)))
        #expect(line.admit().isEmpty)
        #expect(line.end(attempt, of: 0) == Line.issuer)
        #expect(line.stage(0) == nil)
        // The response to an attempt that has ended is ignored.
        #expect(line.end(attempt, of: 0) == nil)
    }

    @Test func `an attempt that yields to another host may be let in again`() throws {
        let line = Line(of: 1)
        let attempt = try line.begin(0)
        _ = line.admit()
        #expect(line.queue.yielded(attempt, of: line.name(0)) == Line.issuer)
        #expect(line.stage(0) == nil)
        let moment = line.scripts[0].moment
        line.queue.requested(attempt, by: line.scripts[0].session, at: Line.issuer, now: moment.now)
        #expect(line.admit() == line.admitted(0, attempt))
    }

    @Test func `an issuer bears four, and who has ended makes room for the next`() throws {
        let line = Line(of: 6)
        let attempts = try (0..<6).map { try line.begin($0) }
        _ = line.admit()
        #expect(line.queue.count(at: .held) == 2)
        // Only the end of an attempt makes room, so no wake time is set.
        #expect(line.queue.wakeTime(of: Line.issuer, now: line.scripts[0].moment.now) == nil)
        let number = try #require((0..<6).first { line.stage($0) == .admitted })
        #expect(line.end(attempts[number], of: number) == Line.issuer)
        _ = line.admit()
        #expect(line.queue.count(at: .held) == 1)
    }

    @Test func `what its session gave up meanwhile is not let in, and takes nobody's place`() throws {
        let line = Line(of: 5)
        let attempts = try (0..<5).map { try line.begin($0) }
        let moment = line.scripts[2].moment
        _ = line.scripts[2].session.logoutRequested(local: true, at: moment)
        #expect(line.admit().contains(.abandon(line.name(2), attempts[2])))
        #expect(line.stage(2) == nil)
        #expect(line.queue.count(at: .admitted) == 4)
    }

    @Test func `an issuer that asks to be left alone has who waits told so, once`() throws {
        let line = Line(of: 2)
        let first = try line.begin(0)
        _ = line.admit()
        let busy = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(60))
        #expect(line.end(first, of: 0, busy) == Line.issuer)
        let attempt = try line.begin(1)
        let opening = line.scripts[1].moment.now + .seconds(60)
        #expect(line.admit() == [.postpone(line.name(1), attempt, until: opening)])
        #expect(line.stage(1) == nil)
        #expect(line.admit().isEmpty)
    }

    @Test func `a program that fails meanwhile does not end an issuer's pause`() throws {
        let line = Line(of: 3)
        let attempts = try (0..<2).map { try line.begin($0) }
        _ = line.admit()
        let busy = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(60))
        let failures = [busy, RefreshFailure(kind: .sourceUnavailable, message: "no token")]
        for (number, failure) in failures.enumerated() {
            #expect(line.end(attempts[number], of: number, failure) == Line.issuer)
        }
        let attempt = try line.begin(2)
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
        let attempts = try (0..<4).map { try line.begin($0) }
        _ = line.admit()
        for (number, attempt) in attempts.enumerated() {
            let failure = RefreshFailure(kind: kind, message: "no token")
            #expect(line.end(attempt, of: number, failure) == Line.issuer)
        }
        try line.begin(4)
        _ = line.admit()
        #expect(line.stage(4) == (isLetIn ? .admitted : .held))
    }

    /// Returns a session with an old request in flight and with a new attempt in the queue.
    private func loggedInAnew() throws -> (Line, old: AttemptNumber) {
        let line = Line(of: 1)
        let old = try line.begin(0)
        _ = line.admit()
        line.scripts[0].logInAnew()
        try line.begin(0)
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
        #expect(line.queue.count(at: .admitted) == 0)
        _ = line.admit()
        #expect(line.stage(0) == .admitted)
    }

    @Test func `a lock lets go of what is held and counted, and the late answer means nothing`() throws {
        let line = Line(of: 5)
        let attempts = try (0..<5).map { try line.begin($0) }
        _ = line.admit()
        line.queue.forget()
        #expect((0..<5).allSatisfy { line.stage($0) == nil })
        #expect(line.end(attempts[0], of: 0) == nil)
        #expect(line.queue.issuers.isEmpty)
    }
}
