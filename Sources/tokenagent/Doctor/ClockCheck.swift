// SPDX-License-Identifier: MIT

import AgentServer
import Text
import TokenCore

/// The check of this computer's clock against this version's release date and the clocks of servers.
struct ClockCheck {
    /// The earliest plausible time, 2026-01-01: this version was released later, so an earlier clock is
    /// wrong.
    static let earliestTime = WallTime(secondsSince1970: 1_767_225_600)
    /// The tolerated difference: 60 seconds.
    ///
    /// Clocks that are set from the network differ by less.
    private static let tolerance = Duration.seconds(60)

    private let now: WallTime
    /// The time by which the clock is behind that of the server that agrees with it best, or `nil` if no
    /// server sent its time.
    private let lead: Duration?

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - now: The time of this computer's clock.
    ///   - leads: The time by which the clock is behind that of each server that sent its time.
    init(_ now: WallTime, behind leads: [Duration]) {
        self.now = now
        lead = leads.min { ClockCheck.size($0) < ClockCheck.size($1) }
    }

    var check: DiagnosticCheck {
        guard now >= ClockCheck.earliestTime else {
            return problem("the clock is years behind: certificates will be rejected")
        }
        guard let lead else {
            let detail = "plausible (no server reported the time)"
            return DiagnosticCheck(name: "clock", verdict: .ok, detail: detail)
        }
        guard ClockCheck.size(lead) > ClockCheck.tolerance else {
            return DiagnosticCheck(name: "clock", verdict: .ok, detail: "agrees with the servers")
        }
        let side = lead > .zero ? "behind" : "ahead of"
        let difference = DurationPhrase.short(ClockCheck.size(lead).wholeSeconds)
        return problem("the clock is \(difference) \(side) the servers: logins and certificates may fail")
    }

    private func problem(_ detail: String) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "clock",
            verdict: .problem,
            detail: detail,
            remedy: .run("timedatectl set-ntp true")
        )
    }

    private static func size(_ duration: Duration) -> Duration {
        duration < .zero ? .zero - duration : duration
    }
}
