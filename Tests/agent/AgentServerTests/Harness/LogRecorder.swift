// SPDX-License-Identifier: MIT

import Logging
import Synchronization

/// Keeps the lines of a log, as `level message key=value …` with the keys in their order.
final class LogRecorder: Sendable {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    /// The lines at the default level and above.
    var shown: [String] { lines.filter { !$0.hasPrefix("debug ") && !$0.hasPrefix("trace ") } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    private func add(_ line: String) {
        kept.withLock { $0.append(line) }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        init(recorder: LogRecorder) {
            self.recorder = recorder
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            recorder.add("\(event.level) \(event.message)" + values.joined())
        }
    }
}
