// SPDX-License-Identifier: MIT

import AgentSettings
import CommandClient
import CommandExecution
import Logging
import NIOCore
import Synchronization
import TokenCore

/// The commands of the active configuration, synchronized with the process that runs them.
final class ConfiguredCommands: Sendable {
    private let runner: CommandRunnerClient
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let unlockCommand = Mutex<[String]>([])

    init(runner: CommandRunnerClient, eventLoop: any EventLoop, logger: Logger) {
        self.runner = runner
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Returns whether a slot of the store may run `command` to open the store.
    func mayUnlock(with command: [String]) -> Bool {
        !command.isEmpty && unlockCommand.withLock { $0 == command }
    }

    /// Makes the process that runs commands read the file itself, if the commands have changed.
    ///
    /// Blocks, so it must not be called on an event loop.
    ///
    /// - Parameters:
    ///   - settings: The settings as written in the file.
    ///   - keepsFormer: Whether commands of the previous settings may still run.
    func adopt(_ settings: Settings, keepsFormer: Bool) {
        unlockCommand.withLock { $0 = settings.vault.unlockCommand }
        let answer = eventLoop.makeFutureWithTask { [runner] () -> CommandFailure? in
            do throws(CommandFailure) {
                try await runner.adopt(CommandTable(settings), keepsFormer: keepsFormer)
                return nil
            } catch {
                return error
            }
        }
        guard let failure = try? answer.wait() else { return }
        logger.warning("changed commands not loaded", metadata: ["reason": "\(failure.message)"])
    }
}
