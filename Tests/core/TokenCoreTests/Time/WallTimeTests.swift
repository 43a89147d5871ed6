// SPDX-License-Identifier: MIT

import Testing
import TokenCore

struct WallTimeTests {
    @Test(arguments: [0, 1, 499_999_999, 999_999_999] as [Int32])
    func `an instant is the same second whenever it is asked for`(fraction: Int32) {
        let start = Moment(
            now: Instant(nanoseconds: 5_000_000_123),
            wallTime: WallTime(secondsSince1970: 1_800_000_000, fraction: fraction)
        )
        let expiry = start.now + .milliseconds(600_400)
        let answer = start.wallTime(at: expiry).secondsSince1970
        for step in stride(from: 0, to: 3_000, by: 7) {
            let later = Moment(
                now: start.now + .milliseconds(step),
                wallTime: start.wallTime + .milliseconds(step)
            )
            #expect(later.wallTime(at: expiry).secondsSince1970 == answer)
        }
    }

    @Test func `fractions carry both ways`() {
        let time = WallTime(secondsSince1970: 10, fraction: 600_000_000)
        #expect(time + .milliseconds(400) == WallTime(secondsSince1970: 11))
        #expect(time - WallTime(secondsSince1970: 9, fraction: 700_000_000) == .milliseconds(900))
        #expect(time + .milliseconds(-700) == WallTime(secondsSince1970: 9, fraction: 900_000_000))
        #expect(WallTime(secondsSince1970: 10) < time)
    }

    @Test func `what does not fit becomes the last moment there is`() {
        #expect(WallTime(secondsSince1970: .max) + .seconds(1) == WallTime(secondsSince1970: .max))
        #expect(WallTime(secondsSince1970: .min) + .milliseconds(-1) == WallTime(secondsSince1970: .min))
    }
}
