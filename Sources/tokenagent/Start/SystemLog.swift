// SPDX-License-Identifier: MIT

import AgentServer
import CommandExecution
import Glibc
import Logging
import Synchronization

/// Where an agent in the background logs: the system's journal, else syslog, else a file of its own.
///
/// Each line tries these in turn, so lines written while the journal restarts are in the next place.
final class SystemLog: Sendable {
    /// Where the journal takes entries (systemd-journald.service(8), "Native Journal Protocol").
    private static let journal = "/run/systemd/journal/socket"
    /// Where syslog takes lines (RFC 3164, as syslog(3) sends them).
    private static let syslog = "/dev/log"
    /// The file is put aside at this size: some 10,000 lines.
    private static let largestFile = 1 << 20
    /// `LOG_DAEMON` of syslog(3).
    private static let facility = 3 << 3

    private let file: Mutex<AuditFile>

    init(stateDirectory: String) {
        file = Mutex(AuditFile(path: stateDirectory + "/agent.log", limit: SystemLog.largestFile))
    }

    /// Writes one line, which has no line feed.
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
        // If the disk is full too, there is nowhere left to tell it.
        _ = file.withLock { $0.append(Array(text.utf8)) }
    }
}

/// Local time, for people.
enum LogTime {
    /// The present time in the form `pattern` (strftime(3)).
    static func text(_ pattern: String) -> String {
        var now = Glibc.time(nil)
        var parts = unsafe tm()
        unsafe localtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&text, text.count, pattern, &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
