// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// A status display that is kept up to date until Ctrl-C.
struct StatusWatch {
    let report: StatusReport

    /// Redraws every second in a terminal; elsewhere prints a snapshot at once and after every event.
    func run() throws(AgentError) {
        StandardOutput.endWithReader()
        if StandardOutput.isTerminal, !report.isJSON {
            while true { try redraw() }
        }
        try followEvents()
    }

    private func redraw() throws(AgentError) {
        // Cursor home, the text with the rest of every line erased, then everything below erased: this avoids
        // flicker.
        var screen = Array("\u{1B}[H".utf8)
        for byte in try report.text() {
            if byte == 0x0A { screen += Array("\u{1B}[K".utf8) }
            screen.append(byte)
        }
        try StandardOutput.write(screen + Array("\u{1B}[J".utf8))
        sleep(1)
    }

    private func followEvents() throws(AgentError) {
        var events = try report.endpoint.connect().lines(of: AgentRequest(.get, "events"))
        try StandardOutput.write(try report.text())
        while try events.next() != nil {
            if !report.isJSON { try StandardOutput.write([0x0A]) }
            try StandardOutput.write(try report.text())
        }
        throw AgentError(.noAgent, "the agent has ended")
    }
}
