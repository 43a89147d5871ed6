// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

@Suite struct IssuerPacingTests {
    private let start = Instant.seconds(1000)
    private let down = RefreshFailure(kind: .unreachable, message: "refused")

    private func session(_ number: Int) -> SessionName { .named("s\(number)") }

    @Test func `whose answer is missing goes first, unless the issuer is down`() {
        var pacing = IssuerPacing(at: start)
        func request(_ pacing: inout IssuerPacing) {
            pacing.requested(by: session(1), isReplay: false, isDemanded: true, neededBy: start)
            pacing.requested(
                by: session(2),
                isReplay: true,
                isDemanded: false,
                neededBy: start + .seconds(99)
            )
        }
        request(&pacing)
        #expect(pacing.admit(at: start) == [session(2), session(1)])
        for number in [1, 2, 1] {
            pacing.finished(session(number), RefreshFailure(kind: .unreachable, message: ""), at: start)
        }
        request(&pacing)
        #expect(pacing.admit(at: start).first == session(1))
    }

    @Test func `what is only for somebody at a socket goes after everything else`() {
        var pacing = IssuerPacing(at: start)
        pacing.requested(by: session(1), isReplay: false, isDemanded: false, isForeign: true, neededBy: start)
        pacing.requested(
            by: session(2),
            isReplay: false,
            isDemanded: false,
            neededBy: start + .seconds(3_600)
        )
        #expect(pacing.admit(at: start) == [session(2), session(1)])
    }

    @Test(.holds("108"))
    func `two hundred sessions due at once ask four at a time and are done within a minute`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<200 {
            pacing.requested(
                by: session(number),
                isReplay: false,
                isDemanded: false,
                neededBy: start + .seconds(Int64(number))
            )
        }
        var now = start
        var done = 0
        var maximumInOneSecond = 0
        while done < 200 {
            var inThisSecond = 0
            for _ in 0..<20 {
                let admitted = pacing.admit(at: now)
                #expect(admitted.count <= IssuerPacing.concurrency)
                for name in admitted { pacing.finished(name, nil, at: now) }
                inThisSecond += admitted.count
                now = now + .milliseconds(50)
            }
            done += inThisSecond
            maximumInOneSecond = max(maximumInOneSecond, inThisSecond)
            guard now - start < .seconds(60) else { break }
        }
        #expect(done == 200)
        #expect(maximumInOneSecond <= 15)
    }

    @Test(.holds("108")) func `those somebody waits for go first, then those that end soonest`() {
        var pacing = IssuerPacing(at: start)
        pacing.requested(by: session(1), isReplay: false, isDemanded: false, neededBy: start + .seconds(50))
        pacing.requested(by: session(2), isReplay: false, isDemanded: false, neededBy: start + .seconds(10))
        pacing.requested(by: session(3), isReplay: false, isDemanded: true, neededBy: start + .seconds(99))
        #expect(pacing.admit(at: start) == [session(3), session(2), session(1)])
    }

    @Test(.holds("81")) func `one failing session does not slow the others, failures of several do`() {
        var pacing = IssuerPacing(at: start)
        for _ in 0..<2 { pacing.finished(session(1), down, at: start) }
        for number in 2...4 {
            pacing.requested(by: session(number), isReplay: false, isDemanded: false, neededBy: start)
        }
        #expect(pacing.admit(at: start).count == 3)
        pacing.finished(session(2), down, at: start)
        for number in 3...4 { pacing.withdrawn(by: session(number)) }
        for number in 2...4 {
            pacing.requested(by: session(number), isReplay: false, isDemanded: false, neededBy: start)
        }
        #expect(pacing.admit(at: start).count == 1)
        #expect(pacing.admit(at: start + .seconds(60)).isEmpty)
    }

    @Test(.holds("81")) func `after an outage the others follow over half a minute`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<60 {
            if number < 3 { pacing.finished(session(number), down, at: start) }
            pacing.requested(by: session(number), isReplay: false, isDemanded: false, neededBy: start)
        }
        let probe = pacing.admit(at: start)
        #expect(probe.count == 1)
        pacing.finished(probe[0], nil, at: start)
        var now = start
        var admitted = 0
        var admittedInFirstTenSeconds = 0
        while admitted < 59, now - start < .seconds(90) {
            now = now + .milliseconds(100)
            let next = pacing.admit(at: now)
            for name in next { pacing.finished(name, nil, at: now) }
            admitted += next.count
            if now - start <= .seconds(10) { admittedInFirstTenSeconds = admitted }
        }
        #expect(admitted == 59)
        #expect(admittedInFirstTenSeconds <= 25)
        #expect(now - start >= .seconds(20))
        #expect(now - start <= .seconds(60))
    }

    @Test(.holds("81")) func `an outage of a day costs 120 requests an hour, and ends within a minute`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<200 { request(number, of: &pacing) }
        let end = start + .seconds(24 * 3600)
        var now = start
        var perHour = [Int](repeating: 0, count: 24)
        while now < end {
            let admitted = pacing.admit(at: now)
            perHour[Int((now - start).wholeSeconds / 3600)] += admitted.count
            for name in admitted {
                pacing.finished(name, down, at: now)
                // Each session has its own schedule and requests another attempt at once.
                pacing.requested(by: name, isReplay: false, isDemanded: false, neededBy: now)
            }
            now = max(pacing.wakeTime(at: now) ?? now, now + .milliseconds(10))
        }
        var back: [Instant] = []
        while back.count < 200, now < end + .seconds(120) {
            for name in pacing.admit(at: now) {
                pacing.finished(name, nil, at: now)
                back.append(now)
            }
            now = max(pacing.wakeTime(at: now) ?? now, now + .milliseconds(10))
        }
        #expect((perHour.max() ?? 0) <= 120)
        #expect(back.count == 200)
        let first = back[0] - end
        let last = (back.last ?? end) - back[0]
        #expect(first <= .seconds(60))
        #expect(last >= .seconds(30))
        Attachment.record(
            "at most \(perHour.max() ?? 0) requests an hour, back after \(first), spread over \(last)",
            named: "figure"
        )
    }

    @Test func `who waits has an issuer that is down asked every ten seconds`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<20 { pacing.finished(session(number), down, at: start) }
        request(1, of: &pacing)
        #expect(pacing.wakeTime(at: start) == start + .seconds(32))
        pacing.requested(by: session(2), isReplay: false, isDemanded: true, neededBy: start)
        #expect(pacing.admit(at: start + .seconds(9)).isEmpty)
        #expect(pacing.wakeTime(at: start) == start + .seconds(10))
        #expect(pacing.admit(at: start + .seconds(10)) == [session(2)])
    }

    @Test func `a network that returns makes nobody wait for the next probe`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<20 { pacing.finished(session(number), down, at: start) }
        for number in 0..<4 { request(number, of: &pacing) }
        #expect(pacing.admit(at: start).isEmpty)
        pacing.networkReturned()
        #expect(pacing.admit(at: start).count == 4)
    }

    private func request(_ number: Int, of pacing: inout IssuerPacing) {
        pacing.requested(
            by: session(number),
            isReplay: false,
            isDemanded: false,
            neededBy: start + .seconds(Int64(number))
        )
    }

    @Test(.holds("80")) func `Retry-After holds for the whole issuer`() {
        var pacing = IssuerPacing(at: start)
        let busy = RefreshFailure(kind: .busy, message: "429", retryAfter: .seconds(30))
        pacing.finished(session(1), busy, at: start)
        pacing.requested(by: session(2), isReplay: false, isDemanded: true, neededBy: start)
        #expect(pacing.admit(at: start + .seconds(29)).isEmpty)
        #expect(pacing.wakeTime(at: start) == start + .seconds(30))
        #expect(pacing.admit(at: start + .seconds(30)) == [session(2)])
    }

    @Test func `a session that withdraws frees its place`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<5 {
            pacing.requested(by: session(number), isReplay: false, isDemanded: false, neededBy: start)
        }
        #expect(pacing.admit(at: start).count == 4)
        pacing.withdrawn(by: session(0))
        #expect(pacing.admit(at: start).count == 1)
    }

    /// Returns the seconds that refreshes of 1,000 sessions take, with a response time of `answer`.
    private func seconds(at ratePerSecond: Int, answer: Duration = .milliseconds(200)) -> Int64 {
        var pacing = IssuerPacing(at: start)
        for number in 0..<1_000 {
            pacing.requested(
                by: session(number),
                isReplay: false,
                isDemanded: false,
                neededBy: start,
                ratePerSecond: ratePerSecond
            )
        }
        var (now, done) = (start, 0)
        while done < 1_000 {
            let admitted = pacing.admit(at: now)
            now = now + answer
            for session in admitted { pacing.finished(session, nil, at: now) }
            done += admitted.count
        }
        return (now - start).wholeSeconds
    }

    @Test func `the pace can be set`() {
        #expect((195...205).contains(seconds(at: 5)))
        #expect((18...25).contains(seconds(at: 50)))
        #expect((950...1_005).contains(seconds(at: 1)))
    }

    @Test func `of the sessions that wait the slowest sets the pace`() {
        var pacing = IssuerPacing(at: start)
        for number in 0..<20 {
            pacing.requested(
                by: session(number),
                isReplay: false,
                isDemanded: false,
                neededBy: start,
                ratePerSecond: number == 19 ? 1 : 100
            )
        }
        #expect(pacing.admit(at: start).count == 2)
    }
}
