// SPDX-License-Identifier: MIT

import AgentServer
import CommandExecution
import Glibc
import Logging
import Synchronization

/// The log of an agent in the background: the system's journal, otherwise syslog, otherwise a separate file.
///
/// Each line is offered to these in turn, so lines written while the journal restarts go to the next one.
final class SystemLog: Sendable {
    /// The socket of the journal (systemd-journald.service(8), "Native Journal Protocol").
    private static let journal = "/run/systemd/journal/socket"
    /// The socket of syslog (RFC 3164, as syslog(3) sends it).
    private static let syslog = "/dev/log"
    /// The file size at which the file is rotated: about 10,000 lines.
    private static let maximumFileSize = 1 << 20
    /// The facility `LOG_DAEMON` of syslog(3).
    private static let facility = 3 << 3

    private let file: Mutex<AuditFile>

    init(stateDirectory: String) {
        file = Mutex(AuditFile(path: stateDirectory + "/agent.log", limit: SystemLog.maximumFileSize))
    }

    /// Writes one line, which contains no line feed.
    func write(_ line: String, priority: Int) {
        let name = "tokenagent"
        let entry =
            "MESSAGE=\(line)\nPRIORITY=\(priority)\nSYSLOG_IDENTIFIER=\(name)\nSYSLOG_PID=\(getpid())\n"
        if UnixDatagram.send(Array(entry.utf8), to: SystemLog.journal) { return }
        let mark = SystemLog.facility | priority
        let time = LogTime.text("%b %e %H:%M:%S")
        let message = "<\(mark)>\(time) \(name)[\(getpid())]: \(line)"
        if UnixDatagram.send(Array(message.utf8), to: SystemLog.syslog) { return }
        let text = "\(LogTime.text("%Y-%m-%d %H:%M:%S")) \(line)\n"
        // If the disk is full as well, nowhere is left to report it.
        _ = file.withLock { $0.append(Array(text.utf8)) }
    }
}

/// The local time for log lines.
enum LogTime {
    /// Returns the current time in the format `pattern` (strftime(3)).
    static func text(_ pattern: String) -> String {
        var now = Glibc.time(nil)
        var parts = unsafe tm()
        unsafe localtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&text, text.count, pattern, &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
