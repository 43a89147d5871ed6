// SPDX-License-Identifier: MIT

import AgentSettings
import CommandClient
import CommandExecution
import Logging
import NIOCore
import Synchronization
import TokenCore

/// Which commands the configuration in force names, as the process that runs them knows them too.
final class ActiveCommands: Sendable {
    private let runner: CommandRunnerClient
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let unlockCommand = Mutex<[String]>([])

    init(runner: CommandRunnerClient, eventLoop: any EventLoop, logger: Logger) {
        self.runner = runner
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Whether a slot of the vault may run `command` to open the store.
    func mayUnlock(with command: [String]) -> Bool {
        !command.isEmpty && unlockCommand.withLock { $0 == command }
    }

    /// Makes the process that runs commands read the file itself, if the commands have changed.
    ///
    /// Blocks, so never on an event loop.
    ///
    /// - Parameters:
    ///   - settings: as the file is written.
    ///   - keepsFormer: whether commands of the settings before may still be run.
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
        logger.warning("changed commands cannot run", metadata: ["reason": "\(failure.message)"])
    }
}
