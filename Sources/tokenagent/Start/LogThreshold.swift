// SPDX-License-Identifier: MIT

import AgentSettings
import Logging
import Synchronization

/// How much is logged; a reload may change it when every part of the agent has its logger already.
final class LogThreshold: Sendable {
    /// Whether the command line sets the level, so that the configuration does not.
    let isFixed: Bool
    private let current: Mutex<Logger.Level>

    /// - Parameters:
    ///   - commandLine: what the command line says; `nil`: nothing.
    ///   - configured: what the configuration says.
    init(commandLine: LogLevel?, configured: LogLevel) {
        isFixed = commandLine != nil
        current = Mutex(Logger.Level(commandLine ?? configured))
    }

    var level: Logger.Level { current.withLock { $0 } }

    /// Takes the level of a configuration that was read again.
    func adopt(_ level: LogLevel) {
        guard !isFixed else { return }
        current.withLock { $0 = Logger.Level(level) }
    }
}
