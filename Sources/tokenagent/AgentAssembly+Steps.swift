// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import CommandExecution
import Logging
import NIOCore
import OAuthClient
import SealedStore
import TokenCore

/// The steps of joining an agent that can fail, each with its failure in the words of a start.
extension AgentAssembly {
    static func settings(_ places: Places) throws(StartFailure) -> Settings {
        do throws(ConfigurationProblems) {
            return try places.configuration.settings(home: places.home)
        } catch {
            throw StartFailure(error)
        }
    }

    static func logger(_ level: LogLevel, _ environment: [String: String]) -> Logger {
        let isJournal = environment["JOURNAL_STREAM"] != nil
        return Logger(label: "tokenagent") { _ in LineLogHandler(level: level, isJournal: isJournal) }
    }

    static func storing<Value>(_ body: () throws(StoreError) -> Value) throws(StartFailure) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw StartFailure(error)
        }
    }

    static func vault() throws(StartFailure) -> Vault {
        do throws(VaultError) {
            return try Vault()
        } catch {
            throw StartFailure(.internal, "the system refused memory for keys")
        }
    }

    /// Opens the store; without a runtime directory that can be trusted it has no second place for its records.
    static func store(
        _ directory: StoreDirectory,
        _ places: Places,
        _ vault: Vault,
        _ timekeeper: SystemTimekeeper,
        _ logger: Logger
    ) throws(StartFailure) -> SessionStore {
        if let runtime = places.runtimeDirectory {
            do throws(StoreError) {
                return try SessionStore(
                    directory: directory,
                    runtimeDirectory: runtime,
                    vault: vault,
                    timekeeper: timekeeper
                )
            } catch {
                // What is wrong with the store itself is said by the second try.
                logger.info("the runtime directory is not used", metadata: ["reason": "\(error)"])
            }
        }
        return try storing { () throws(StoreError) in
            try SessionStore(
                directory: directory,
                runtimeDirectory: nil,
                vault: vault,
                timekeeper: timekeeper
            )
        }
    }

    /// At the first start: a vault that a key file opens, so that the agent works without being set up.
    static func createVault(
        in store: SessionStore,
        _ settings: VaultSettings,
        _ logger: Logger
    ) throws(StartFailure) {
        guard store.state == .uninitialized else { return }
        try storing { () throws(StoreError) in try store.initialize(with: .keyFile(path: settings.keyFile)) }
        logger.notice("made a new store", metadata: ["path": "\(store.stateDirectory)"])
    }

    static func commands(_ socket: Int32, _ loop: any EventLoop) throws(StartFailure) -> CommandRunnerClient {
        do {
            return try CommandRunnerClient.connect(socket: socket, on: loop).wait()
        } catch {
            throw StartFailure(.internal, "can not reach the process that runs commands: \(error)")
        }
    }

    /// Opens the vault if that needs no person; else the agent starts locked.
    static func unlock(_ control: StoreControl, _ logger: Logger) {
        guard control.store.state == .locked else { return }
        do throws(StoreRefusal) {
            try control.unlock(passphrase: nil)
        } catch {
            logger.notice("locked; unlock with: tokenctl unlock", metadata: ["reason": "\(error)"])
        }
    }

    static func adopt(
        _ settings: Settings,
        _ inForce: ConfigurationInForce
    ) throws(StartFailure) -> AgentConfiguration {
        do throws(RequestFailure) {
            return try inForce.adopt(settings)
        } catch {
            throw StartFailure(error.code, error.message)
        }
    }
}
