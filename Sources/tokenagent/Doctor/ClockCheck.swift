// SPDX-License-Identifier: MIT

import AgentServer
import Text
import TokenCore

/// Compares this computer's clock with the day this version was made, and with the clocks of servers.
struct ClockCheck {
    /// 2026-01-01, which is before this version was made: an earlier clock is wrong.
    static let earliestTime = WallTime(secondsSince1970: 1_767_225_600)
    /// Clocks that are set from the network differ by less.
    private static let tolerance = Duration.seconds(60)

    private let now: WallTime
    /// By how much the clock is behind that of the server that agrees with it best; `nil`: no server told the time.
    private let lead: Duration?

    /// - Parameters:
    ///   - now: by this computer's clock.
    ///   - leads: by how much it is behind the clock of each server that told the time.
    init(_ now: WallTime, behind leads: [Duration]) {
        self.now = now
        lead = leads.min { ClockCheck.size($0) < ClockCheck.size($1) }
    }

    var check: DiagnosticCheck {
        guard now >= ClockCheck.earliestTime else {
            return problem("the clock is years behind: certificates will be refused")
        }
        guard let lead else {
            return DiagnosticCheck(name: "clock", verdict: .ok, detail: "plausible; no server told the time")
        }
        guard ClockCheck.size(lead) > ClockCheck.tolerance else {
            return DiagnosticCheck(name: "clock", verdict: .ok, detail: "as that of the servers")
        }
        let side = lead > .zero ? "behind" : "ahead of"
        return problem(
            "the clock is \(DurationPhrase.short(ClockCheck.size(lead).wholeSeconds)) \(side) that of the servers: logins and "
                + "certificates may fail"
        )
    }

    private func problem(_ detail: String) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "clock",
            verdict: .problem,
            detail: detail,
            remedy: "set the clock, for example with timedatectl set-ntp true"
        )
    }

    private static func size(_ duration: Duration) -> Duration {
        duration < .zero ? .zero - duration : duration
    }
}
