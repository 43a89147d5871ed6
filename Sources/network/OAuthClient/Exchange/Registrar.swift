// SPDX-License-Identifier: MIT

import TokenCore

/// The registry of clients that servers have registered for the agent, and of registrations in flight.
///
/// - Entry points: ``registration(for:status:register:)`` for a login, ``registration(of:at:)`` afterwards.
/// - May not: hand out a client before it is stored durably.
actor Registrar {
    /// The use that can be made of an existing registration.
    enum RegistrationStatus: Sendable {
        /// The registration can be used for logins.
        case good
        /// Existing logins continue with the registration.
        ///
        /// A new login registers another.
        case ending
        /// The registration is useless, because the server does not know it.
        case gone
    }

    /// The maximum number of registrations kept for one purpose.
    ///
    /// Sessions may still be logged in with older clients.
    private static let maximumOfOnePurpose = 8

    let store: any RegistrationStoring
    /// The given secrets that a server has rejected, while another may be right.
    var rejectedSecrets: Set<SecretID> = []
    private var underWay:
        [ClientRegistration.LookupKey: Task<Result<ClientRegistration, RefreshFailure>, Never>] = [:]

    /// Creates a registry that keeps its registrations in `store`.
    init(_ store: any RegistrationStoring = TransientRegistrations()) {
        self.store = store
    }

    /// Returns the client named `client` at `issuer`, or `nil` if there is none.
    func registration(of client: String, at issuer: String) async -> ClientRegistration? {
        await store.registrations().last {
            $0.isClient(client, at: issuer) && $0.method != ClientRegistration.given
        }
    }

    /// Returns the client to log in with: an existing one, or a new one.
    ///
    /// Concurrent requests share one registration.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the client.
    ///   - status: Returns the status of an existing client. One that is `gone` is dropped.
    ///   - register: Registers a new client.
    /// - Returns: The client, which is stored durably.
    /// - Throws: The reason there is no client.
    func registration(
        for purpose: ClientRegistration.LookupKey,
        status: @escaping @Sendable (ClientRegistration) async throws(RefreshFailure) -> RegistrationStatus,
        register: @escaping @Sendable () async throws(RefreshFailure) -> ClientRegistration
    ) async throws(RefreshFailure) -> ClientRegistration {
        if let task = underWay[purpose] { return try await task.value.get() }
        let task = Task { await find(purpose, status, register) }
        underWay[purpose] = task
        let result = await task.value
        underWay[purpose] = nil
        return try result.get()
    }

    private func find(
        _ purpose: ClientRegistration.LookupKey,
        _ status: @Sendable (ClientRegistration) async throws(RefreshFailure) -> RegistrationStatus,
        _ register: @Sendable () async throws(RefreshFailure) -> ClientRegistration
    ) async -> Result<ClientRegistration, RefreshFailure> {
        do throws(RefreshFailure) {
            let known = await store.registrations().filter { $0.purpose == purpose }
            if let latest = known.last {
                switch try await status(latest) {
                case .good: return .success(latest)
                case .ending: break
                case .gone: await drop(latest)
                }
            }
            for old in known.dropLast().dropLast(Registrar.maximumOfOnePurpose - 1) { await drop(old) }
            let registered = try await register()
            do throws(StorageFailure) {
                try await store.keep(registered)
            } catch {
                throw RefreshFailure(
                    kind: .storage,
                    message: "cannot store the registered client: \(error.message)"
                )
            }
            return .success(registered)
        } catch {
            return .failure(error)
        }
    }

    /// Forgets a client locally, without a request to the server.
    func drop(_ registration: ClientRegistration) async {
        // If the removal fails, the next login finds the client useless and drops it.
        try? await store.drop(registration)
    }

    /// Returns the secrets that `issuer` has issued to the clients that it registered.
    func secrets(at issuer: String) async -> [SecretID] {
        await store.registrations().filter { $0.purpose.issuer.bytewise == issuer.bytewise }.flatMap(
            \.secrets
        )
    }
}

/// A store of registrations in the memory of the process, which ends with it.
package actor TransientRegistrations: RegistrationStoring {
    private var kept: [ClientRegistration] = []

    package init() {}

    package func registrations() -> [ClientRegistration] { kept }

    package func keep(_ registration: ClientRegistration) { kept.append(registration) }

    package func drop(_ registration: ClientRegistration) { kept.removeAll { $0 == registration } }
}
