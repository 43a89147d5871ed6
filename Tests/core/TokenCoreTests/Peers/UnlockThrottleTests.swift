// SPDX-License-Identifier: MIT

import Testing
import TokenCore

struct UnlockThrottleTests {
    private func pace(after wrong: Int, at now: Instant = .seconds(100)) -> UnlockThrottle {
        var pace = UnlockThrottle()
        for _ in 0..<wrong { pace.guessed(isRight: false, at: now) }
        return pace
    }

    @Test(arguments: [
        (0, 0), (1, 100), (2, 200), (40, 4000), (100, 10_000), (101, 10_000), (100_000, 10_000),
    ])
    func `each wrong guess adds a tenth of a second, up to ten`(wrong: Int, milliseconds: Int) {
        #expect(pace(after: wrong).delay(at: .seconds(100)) == .milliseconds(milliseconds))
    }

    @Test func `time that passes counts`() {
        let pace = pace(after: 30)
        #expect(pace.delay(at: .seconds(101)) == .seconds(2))
        #expect(pace.delay(at: .seconds(103)) == .zero)
        #expect(pace.delay(at: .seconds(150)) == .zero)
    }

    @Test func `a minute without a guess makes the next as quick as the first`() {
        var pace = pace(after: 50)
        pace.guessed(isRight: false, at: .seconds(160))
        #expect(pace.delay(at: .seconds(160)) == .milliseconds(100))
        var busy = self.pace(after: 50)
        busy.guessed(isRight: false, at: .seconds(159))
        #expect(busy.delay(at: .seconds(159)) == .milliseconds(5100))
    }

    @Test func `the right one ends it`() {
        var pace = pace(after: 50)
        pace.guessed(isRight: true, at: .seconds(101))
        #expect(pace.delay(at: .seconds(101)) == .zero)
    }
}
