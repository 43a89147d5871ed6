// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing

@Suite struct `Durations as people write them` {
    @Test(arguments: [
        ("0s", Duration.zero), ("90s", .seconds(90)), ("5m", .seconds(300)), ("30d", .seconds(2_592_000)),
        ("1h30m", .seconds(5400)), ("1w", .seconds(604_800)), ("250ms", .milliseconds(250)),
        ("1d2h3m4s5ms", .milliseconds(93_784_005)), ("36500d", .seconds(36_500 * 86_400)),
    ])
    func `a number and a unit, largest first, is a duration`(text: String, duration: Duration) {
        #expect(DurationText.parse(text) == duration)
    }

    @Test(arguments: [
        "", "5", "m", "5 m", "5M", "-5m", "+5m", "5m ", "1m1h", "5m5m", "1.5h", "5min", "\u{0665}m", "5m\0",
        "36501d", "9223372036854775807s", "9223372036854775807w", "99999999999999999999s",
    ])
    func `anything else is not`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test func `a bare number means seconds on the command line only`() {
        #expect(DurationText.parse("90", allowingBareSeconds: true) == .seconds(90))
        #expect(DurationText.parse("5m", allowingBareSeconds: true) == .seconds(300))
        #expect(DurationText.parse("-90", allowingBareSeconds: true) == nil)
        #expect(DurationText.parse("9223372036854775807", allowingBareSeconds: true) == nil)
    }
}
