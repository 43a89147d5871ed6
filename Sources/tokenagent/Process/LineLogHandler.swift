// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Glibc
import Logging

/// A log handler that writes one line per message to standard error or, in the background, to the system's
/// log.
///
/// On standard error a line begins with a priority for the journal, or with the time. Control characters are
/// replaced, as some values come from servers.
struct LineLogHandler: LogHandler {
    /// The destination of log lines.
    enum Output {
        /// Standard error.
        ///
        /// `isJournal` means that it goes to the journal, which records the time itself (sd-daemon(3)).
        case standardError(isJournal: Bool)
        /// The system's log.
        ///
        /// Warnings and worse also go to standard error, where a waiting start shows them.
        case background(SystemLog)
    }

    var metadata = Logger.Metadata()
    private let threshold: LogThreshold
    private let output: Output

    init(_ threshold: LogThreshold, to output: Output) {
        self.threshold = threshold
        self.output = output
    }

    /// The level of the whole agent.
    ///
    /// Its parts cannot set levels of their own.
    var logLevel: Logger.Level {
        get { threshold.level }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(quoted("\(value)"))" }
        line = line.printable
        switch output {
        case .standardError(isJournal: true): DescriptorIO.write("<\(event.level.priority)>\(line)\n", to: 2)
        case .standardError(isJournal: false): tell(event.level, line)
        case .background(let log):
            log.write("\(event.level): \(line)", priority: event.level.priority)
            if event.level >= .warning { tell(event.level, line) }
        }
    }

    private func tell(_ level: Logger.Level, _ line: String) {
        DescriptorIO.write("\(LogTime.text("%Y-%m-%d %H:%M:%S")) \(level): \(line)\n", to: 2)
    }

    private func quoted(_ text: String) -> String {
        text.contains(" ") || text.isEmpty ? "\"\(text)\"" : text
    }
}

extension String {
    /// The text with control characters replaced, so that a message is one line and does not move the cursor.
    fileprivate var printable: String {
        var scalars = UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            scalars.append(isControl ? " " : scalar)
        }
        return String(scalars)
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        switch level {
        case .critical: self = .critical
        case .error: self = .error
        case .warning: self = .warning
        case .notice: self = .notice
        case .info: self = .info
        case .debug: self = .debug
        case .trace: self = .trace
        }
    }

    /// The priority of syslog(3) for the level.
    fileprivate var priority: Int {
        switch self {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
