// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The client registered at the token service: one for all its sessions, kept sealed.
extension IdentityCenterServer {
    /// The minimum remaining validity of a registration for a new login, because the login ends with it.
    ///
    /// Amazon's registrations are valid for 90 days.
    private static let maximumLogin: Duration = .seconds(30 * 86_400)

    private var purpose: ClientRegistration.LookupKey {
        ClientRegistration.LookupKey(
            issuer: center.tokenService,
            redirectURI: "",
            authentication: IdentityCenter.scope
        )
    }

    /// Returns the client of the login.
    ///
    /// - Throws: `clientUnknown` if its registration no longer exists.
    func knownClient(_ found: DiscoveredServer?) async throws(RefreshFailure) -> ClientRegistration {
        guard let client = found?.client,
            let registration = await tools.registrar.registration(of: client, at: center.tokenService)
        else { throw .clientUnknown }
        return registration
    }

    /// Returns the client for a new login, and registers one if needed.
    func clientForLogin() async throws(RefreshFailure) -> ClientRegistration {
        try await tools.registrar.registration(for: purpose) {
            status(of: $0)
        } register: { () throws(RefreshFailure) in
            try await register()
        }
    }

    private func status(of registration: ClientRegistration) -> Registrar.RegistrationStatus {
        guard let end = registration.secretExpiresAt else { return .good }
        let left = end - tools.timekeeper.wallTime
        if left >= Self.maximumLogin { return .good }
        return left > .zero ? .ending : .gone
    }

    func unregister(_ found: DiscoveredServer?) async {
        // The service cannot delete a client, but forgets each client when its registration expires.
        guard let client = found?.client,
            let registration = await tools.registrar.registration(of: client, at: center.tokenService)
        else { return }
        await tools.registrar.drop(registration)
    }

    private func register() async throws(RefreshFailure) -> ClientRegistration {
        let (object, _) = try await service.post("/client/register") { members in
            members.add("clientName", "tokenagent")
            members.add("clientType", "public")
            members.add("scopes", [IdentityCenter.scope])
        }
        let host = try service.url("").hostAndPort
        guard let id = object["clientId"]?.string, id.isKept(upTo: 4 << 10),
            let secret = object["clientSecret"]?.string, secret.isKept(upTo: 16 << 10)
        else {
            let message = "\(host): the registered client has no ID or no secret"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        var registration = ClientRegistration(
            purpose: purpose,
            clientID: id,
            redirectURIs: [],
            method: "client_secret_post"
        )
        registration.secret = try tools.memory.sealing(secret, as: .clientSecret)
        if let end = object.seconds("clientSecretExpiresAt"), end > 0 {
            registration.secretExpiresAt = WallTime(secondsSince1970: end)
        }
        return registration
    }
}

extension ClientRegistration {
    /// Adds the client's ID and secret to the body of a request.
    func add(to members: JSONRequestBody.MemberWriter, _ memory: SealedMemory) throws(RefreshFailure) {
        members.add("clientId", clientID)
        if let secret { try members.add("clientSecret", secret, from: memory) }
    }
}

extension String {
    /// Returns whether the text is printable and of an acceptable length.
    fileprivate func isKept(upTo longest: Int) -> Bool {
        (1...longest).contains(utf8.count) && utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
