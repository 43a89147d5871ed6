// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// The clients that servers have registered for us, and the registrations under way.
actor Registrar {
    /// What a registration that is there can be used for.
    enum Standing: Sendable {
        /// Everything.
        case good
        /// Whoever is logged in with it goes on with it; another login gets another.
        case ending
        /// Nothing: the server does not know it.
        case gone
    }

    /// Registrations kept of one purpose: sessions may still be logged in as older clients.
    private static let mostOfOnePurpose = 8

    let store: any RegistrationStoring
    /// Given secrets that a server has rejected, while another may be right.
    var rejectedSecrets: Set<SecretID> = []
    private var underWay:
        [ClientRegistration.Purpose: Task<Result<ClientRegistration, RefreshFailure>, Never>] = [:]

    /// Keeps the registrations in `store`.
    init(_ store: any RegistrationStoring = TransientRegistrations()) {
        self.store = store
    }

    /// The client named `client` at `issuer`.
    func registration(of client: String, at issuer: String) async -> ClientRegistration? {
        await store.registrations().last {
            $0.isClient(client, at: issuer) && $0.method != ClientRegistration.given
        }
    }

    /// The client to log in with: one that is there, else a new one, which all who want it wait for.
    ///
    /// - Parameters:
    ///   - purpose: what it is for.
    ///   - standing: of a client that is there; one that is gone is dropped.
    ///   - register: registers a new one.
    /// - Returns: the client, which is durable.
    /// - Throws: why there is none.
    func registration(
        for purpose: ClientRegistration.Purpose,
        standing: @escaping @Sendable (ClientRegistration) async throws(RefreshFailure) -> Standing,
        register: @escaping @Sendable () async throws(RefreshFailure) -> ClientRegistration
    ) async throws(RefreshFailure) -> ClientRegistration {
        if let task = underWay[purpose] { return try await task.value.get() }
        let task = Task { await find(purpose, standing, register) }
        underWay[purpose] = task
        let result = await task.value
        underWay[purpose] = nil
        return try result.get()
    }

    private func find(
        _ purpose: ClientRegistration.Purpose,
        _ standing: @Sendable (ClientRegistration) async throws(RefreshFailure) -> Standing,
        _ register: @Sendable () async throws(RefreshFailure) -> ClientRegistration
    ) async -> Result<ClientRegistration, RefreshFailure> {
        do throws(RefreshFailure) {
            let known = await store.registrations().filter { $0.purpose == purpose }
            if let latest = known.last {
                switch try await standing(latest) {
                case .good: return .success(latest)
                case .ending: break
                case .gone: await drop(latest)
                }
            }
            for old in known.dropLast().dropLast(Registrar.mostOfOnePurpose - 1) { await drop(old) }
            let registered = try await register()
            do throws(StorageFailure) {
                try await store.keep(registered)
            } catch {
                throw RefreshFailure(
                    kind: .storage,
                    message: "the registered client cannot be kept: \(error.message)"
                )
            }
            return .success(registered)
        } catch {
            return .failure(error)
        }
    }

    /// Forgets a client, here alone.
    func drop(_ registration: ClientRegistration) async {
        // What cannot be removed now is dropped by the next login that finds it useless.
        try? await store.drop(registration)
    }

    /// What `issuer` has given the clients that it registered to prove themselves by.
    func secrets(at issuer: String) async -> [SecretID] {
        await store.registrations().filter { $0.purpose.issuer.bytewise == issuer.bytewise }.flatMap(
            \.secrets
        )
    }
}

/// Registrations that live as long as the process.
package actor TransientRegistrations: RegistrationStoring {
    private var kept: [ClientRegistration] = []

    package init() {}

    package func registrations() -> [ClientRegistration] { kept }

    package func keep(_ registration: ClientRegistration) { kept.append(registration) }

    package func drop(_ registration: ClientRegistration) { kept.removeAll { $0 == registration } }
}
