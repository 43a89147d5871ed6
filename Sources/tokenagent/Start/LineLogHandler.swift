// SPDX-License-Identifier: MIT

import AgentSettings
import Glibc
import Logging

/// Writes one line per message to standard error or, in the background, to the system's log.
///
/// On standard error a line begins with a priority mark for the journal, or else with the time. Values are
/// shown without control characters: some of them come from servers.
struct LineLogHandler: LogHandler {
    /// Where lines go.
    enum Output {
        /// - isJournal: standard error goes to the journal, which keeps the time itself (sd-daemon(3)).
        case standardError(isJournal: Bool)
        /// To the system's log; warnings and worse also to standard error, which a waiting start shows.
        case background(SystemLog)
    }

    var metadata = Logger.Metadata()
    private let threshold: LogThreshold
    private let output: Output

    init(_ threshold: LogThreshold, to output: Output) {
        self.threshold = threshold
        self.output = output
    }

    /// One level for the whole agent: no part of it sets its own.
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
        case .standardError(isJournal: true): Descriptor.write("<\(event.level.priority)>\(line)\n", to: 2)
        case .standardError(isJournal: false): tell(event.level, line)
        case .background(let log):
            log.write("\(event.level): \(line)", priority: event.level.priority)
            if event.level >= .warning { tell(event.level, line) }
        }
    }

    private func tell(_ level: Logger.Level, _ line: String) {
        Descriptor.write("\(LogTime.text("%Y-%m-%d %H:%M:%S")) \(level): \(line)\n", to: 2)
    }

    private func quoted(_ text: String) -> String {
        text.contains(" ") || text.isEmpty ? "\"\(text)\"" : text
    }
}

extension String {
    /// Without control characters, so that one message is one line and moves no cursor.
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

    /// The number syslog(3) has for it.
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
