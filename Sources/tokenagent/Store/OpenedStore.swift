// SPDX-License-Identifier: MIT

import AgentSettings
import Glibc
import Logging
import SealedStore
import SecretMemory
import TokenCore

/// The agent's store, which no other process can use from now on, and the memory that its secrets are sealed
/// in.
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
            throw StartFailure(.internal, "cannot allocate memory for keys")
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

    /// Opens the store as an agent would at its start, without changing it.
    ///
    /// - Throws: ``StartFailure`` with the reason an agent could not use the store.
    static func check(_ options: StartOptions, _ places: AgentLocations) throws(StartFailure) {
        // A missing store is created by the first start.
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
            throw StartFailure(.internal, "cannot allocate memory for keys")
        }
    }

    /// Opens the store.
    ///
    /// Without a trusted runtime directory it has no second location for its records.
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
                // If the error is in the store itself, the second attempt reports it.
                logger.info("runtime directory not used", metadata: ["reason": "\(error)"])
            }
        }
        return try SessionStore(
            directory: directory,
            runtimeDirectory: nil,
            memory: memory,
            timekeeper: timekeeper
        )
    }

    /// Creates a store with a key file at the first start, so that the agent works without being set up.
    private static func createVault(
        in store: SessionStore,
        _ settings: VaultSettings,
        _ logger: Logger
    ) throws(StoreError) {
        guard store.state == .uninitialized else { return }
        try store.initialize(with: .keyFile(path: settings.keyFile))
        logger.notice("store created", metadata: ["path": "\(store.stateDirectory)"])
    }
}
