// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Shows an address as a QR code, for the camera of a phone; qrencode(1) makes it.
enum QRCode {
    private static let program = "qrencode"

    /// Prints the code of `address`, or why there is none: the login goes on without it.
    ///
    /// - Throws: ``AgentError`` if standard output cannot be written.
    static func show(_ address: String) throws(AgentError) {
        guard Browser.isSafe(address) else { return }
        // Colors make it readable on a dark terminal; elsewhere they would be noise.
        let form = StandardOutput.isTerminal ? "ANSIUTF8" : "UTF8"
        let status = try? ChildProcess(program, ["-t", form, "-o", "-", "--", address], error: .null).wait()
        switch status {
        case 0?: break
        case nil: try StandardOutput.line("No QR code: \(program) is not installed.")
        case let status?: try StandardOutput.line("No QR code: \(program) ended with status \(status).")
        }
    }
}
