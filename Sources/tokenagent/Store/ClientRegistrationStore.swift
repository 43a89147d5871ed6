// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import SealedStore
import TokenCore

/// The store of client registrations, which moves the store's blocking calls to a separate thread.
struct ClientRegistrationStore: RegistrationStoring {
    let store: SessionStore
    let pool: NIOThreadPool
    let eventLoop: any EventLoop

    func registrations() async -> [ClientRegistration] {
        let found = pool.runIfActive(eventLoop: eventLoop) { [store] in store.registrations() }
        return (try? await found.get()) ?? []
    }

    func keep(_ registration: ClientRegistration) async throws(StorageFailure) {
        try await run { store throws(StorageFailure) in try store.keep(registration) }
    }

    func drop(_ registration: ClientRegistration) async throws(StorageFailure) {
        try await run { store throws(StorageFailure) in try store.drop(registration) }
    }

    private func run(
        _ job: @escaping @Sendable (SessionStore) throws(StorageFailure) -> Void
    ) async throws(StorageFailure) {
        let done = pool.runIfActive(eventLoop: eventLoop) { [store] in
            Result { () throws(StorageFailure) in try job(store) }
        }
        guard let result = try? await done.get() else {
            throw StorageFailure(message: "the agent is stopping")
        }
        try result.get()
    }
}
