// SPDX-License-Identifier: MIT

import AgentSettings
import Glibc
import Logging

/// Writes one line per message to standard error: with a priority mark for the journal, else with the time.
///
/// Values are shown without control characters: some of them come from servers.
struct LineLogHandler: LogHandler {
    var metadata = Logger.Metadata()
    var logLevel: Logger.Level
    /// Standard error goes to the journal, which keeps the time itself (sd-daemon(3)).
    private let isJournal: Bool

    init(level: LogLevel, isJournal: Bool) {
        logLevel = Logger.Level(level)
        self.isJournal = isJournal
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = isJournal ? "<\(event.level.priority)>" : "\(LineLogHandler.time()) \(event.level): "
        line += "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(quoted("\(value)"))" }
        Descriptor.write(line.printable + "\n", to: 2)
    }

    private func quoted(_ text: String) -> String {
        text.contains(" ") || text.isEmpty ? "\"\(text)\"" : text
    }

    /// Local time, as `2026-01-31 12:00:00`.
    private static func time() -> String {
        var now = Glibc.time(nil)
        var parts = unsafe tm()
        unsafe localtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
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
