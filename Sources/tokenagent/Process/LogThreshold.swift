// SPDX-License-Identifier: MIT

import AgentSettings
import Logging
import Synchronization

/// The log level, which a reload can change although every part of the agent already has its logger.
final class LogThreshold: Sendable {
    /// Whether the command line sets the level, so that the configuration does not.
    let isFixed: Bool
    private let current: Mutex<Logger.Level>

    /// Creates a threshold.
    ///
    /// - Parameters:
    ///   - commandLine: The level from the command line, or `nil` if there is none.
    ///   - configured: The level from the configuration.
    init(commandLine: LogLevel?, configured: LogLevel) {
        isFixed = commandLine != nil
        current = Mutex(Logger.Level(commandLine ?? configured))
    }

    var level: Logger.Level { current.withLock { $0 } }

    /// Applies the level of a reloaded configuration.
    func adopt(_ level: LogLevel) {
        guard !isFixed else { return }
        current.withLock { $0 = Logger.Level(level) }
    }
}
