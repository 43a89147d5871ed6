// SPDX-License-Identifier: MIT

import AgentSettings
import Glibc
import Logging
import SealedStore
import TokenCore

/// The agent's store, which no other process can use from now on, and the memory its secrets are sealed in.
struct OpenedStore {
    let memory: SealedMemory
    let store: SessionStore
    let timekeeper = SystemTimekeeper()

    init(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ settings: VaultSettings,
        _ logger: Logger
    ) throws(StartFailure) {
        do throws(SealedMemoryError) {
            memory = try SealedMemory()
        } catch {
            throw StartFailure(.internal, "the system refused memory for keys")
        }
        do throws(StoreError) {
            let directory = try StoreDirectory(
                places.stateDirectory,
                socket: places.socket,
                allowsNetwork: options.allowsNetworkStore
            )
            store = try OpenedStore.store(directory, places, memory, timekeeper, logger)
            try OpenedStore.createVault(in: store, settings, logger)
        } catch {
            throw StartFailure(error)
        }
    }

    /// Opens the store as the start of an agent would, and leaves it as it is.
    ///
    /// - Throws: ``StartFailure``: why no agent could use it.
    static func check(_ options: StartOptions, _ places: AgentLocations) throws(StartFailure) {
        // A missing one is made by the first start.
        guard unsafe access(places.stateDirectory, F_OK) == 0 else { return }
        try ProcessHardening.refuseInspection()
        do {
            let directory = try StoreDirectory(
                places.stateDirectory,
                allowsNetwork: options.allowsNetworkStore
            )
            defer { directory.close() }
            _ = try SessionStore(
                directory: directory,
                runtimeDirectory: nil,
                memory: SealedMemory(),
                timekeeper: SystemTimekeeper()
            )
        } catch let error as StoreError {
            throw StartFailure(error)
        } catch {
            throw StartFailure(.internal, "the system refused memory for keys")
        }
    }

    /// Opens the store; without a runtime directory that can be trusted it has no second place for its records.
    private static func store(
        _ directory: StoreDirectory,
        _ places: AgentLocations,
        _ memory: SealedMemory,
        _ timekeeper: SystemTimekeeper,
        _ logger: Logger
    ) throws(StoreError) -> SessionStore {
        if let runtime = places.runtimeDirectory {
            do throws(StoreError) {
                return try SessionStore(
                    directory: directory,
                    runtimeDirectory: runtime,
                    memory: memory,
                    timekeeper: timekeeper
                )
            } catch {
                // If the store itself is at fault, the second try says so.
                logger.info("the runtime directory is not used", metadata: ["reason": "\(error)"])
            }
        }
        return try SessionStore(
            directory: directory,
            runtimeDirectory: nil,
            memory: memory,
            timekeeper: timekeeper
        )
    }

    /// Makes a vault that a key file opens, at the first start, so that the agent works without being set up.
    private static func createVault(
        in store: SessionStore,
        _ settings: VaultSettings,
        _ logger: Logger
    ) throws(StoreError) {
        guard store.state == .uninitialized else { return }
        try store.initialize(with: .keyFile(path: settings.keyFile))
        logger.notice("made a new store", metadata: ["path": "\(store.stateDirectory)"])
    }
}
