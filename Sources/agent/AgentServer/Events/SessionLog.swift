// SPDX-License-Identifier: MIT

import Logging
import Text
import TokenCore

/// The log lines about sessions; at the default level, one for each change.
///
/// They contain only the agent's own words, without account or address: users other than the session's can
/// read the system's log. Text from a server is logged at level `debug`.
struct SessionLog {
    /// The maximum length in bytes of a server's error code in the log.
    private static let maximumCodeLength = 64

    let logger: Logger

    func log(_ event: SessionEvent, of name: SessionName, at moment: Moment) {
        // ``refreshFailed(_:of:_:nextTry:)`` logs that event, once the next attempt is planned.
        if let line = event.name.logLine {
            var values: Logger.Metadata = [:]
            values["reason"] = event.reason.map { "\($0)" }
            if let lifetime = line.lifetime, let end = event.expiresAt {
                values[lifetime] = "\(max(0, (end - moment.now).wholeSeconds))"
            }
            if !event.notes.isEmpty {
                values["notes"] = "\(event.notes.map(\.rawValue).joined(separator: ","))"
            }
            write(line.isWarning ? .warning : .notice, "\(line.text)", name, values)
        }
        if let message = event.message { tell(message, of: name) }
    }

    /// Logs a failed refresh made for `reason`; `nextTry` is the time until the next one, or `nil` if none is
    /// planned.
    func refreshFailed(
        _ failure: RefreshFailure,
        of reason: RefreshReason,
        _ name: SessionName,
        nextTry: Duration?
    ) {
        var values = SessionLog.values(of: failure)
        values["reason"] = "\(reason.rawValue)"
        values["next_try"] = nextTry.map { "\(max(0, $0.wholeSeconds))" } ?? "none"
        write(.warning, "refresh failed", name, values)
        tell(failure.message, of: name)
    }

    func loginEnded(_ result: LoginReply, of name: SessionName) {
        switch result {
        // The session's event has been logged already.
        case .done: break
        case .failed(let failure):
            write(.warning, "login failed", name, SessionLog.values(of: failure))
            tell(failure.message, of: name)
        case .cancelled: write(.notice, "login cancelled", name)
        case .superseded: write(.notice, "login superseded", name)
        }
    }

    /// Logs that the login has ended and that another one is attempted without the user.
    func sessionEnded(_ reason: EndReason?, of name: SessionName) {
        write(.notice, "login ended; logging in again", name, ["reason": "\(reason?.rawValue ?? "")"])
    }

    func logoutEnded(_ result: LogoutReply, of name: SessionName) {
        guard case .notYetRevoked(let message) = result else { return }
        write(.warning, "revocation pending", name)
        tell(message, of: name)
    }

    private func tell(_ message: String, of name: SessionName) {
        write(.debug, "full message", name, ["message": "\(message)"])
    }

    func write(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ name: SessionName,
        _ more: Logger.Metadata = [:]
    ) {
        var values = more
        values["session"] = "\(name)"
        logger.log(level: level, message, metadata: values)
    }

    private static func values(of failure: RefreshFailure) -> Logger.Metadata {
        var values: Logger.Metadata = ["class": "\(failure.kind.rawValue)"]
        if let code = failure.code, isPlain(code) { values["code"] = "\(code)" }
        // The error output of a configured program, redacted; it is not text from a server.
        if failure.kind == .helperFailed { values["error"] = "\(failure.message)" }
        return values
    }

    /// Returns whether `code` is a word like those that the protocols define; anything else is text from the
    /// server.
    private static func isPlain(_ code: String) -> Bool {
        let bytes = code.utf8
        return !bytes.isEmpty && bytes.count <= maximumCodeLength
            && bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-.".utf8.contains($0) }
    }
}
