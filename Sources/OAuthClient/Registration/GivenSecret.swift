// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension ServerProfile {
    /// What the secret is kept for that a person has given to this session; `nil`: it keeps none.
    ///
    /// It is used by this session, for its client and at its server alone: an issuer that somebody has written in place
    /// of another does not get it.
    var givenSecret: ClientRegistration.Purpose? {
        guard case .given(let session) = client.proof.secret else { return nil }
        let identity = kind.identity
        // Of a resource it is the issuer that the configuration names: its own address may not stand for it.
        let server: String? =
            switch kind {
            case .oidc(let issuer, let metadata): metadata ?? issuer
            case .resource(let resource): resource.metadata ?? resource.issuer
            default: nil
            }
        let address = [identity.address, identity.pool].compactMap(\.self).joined(separator: " ")
        return ClientRegistration.Purpose(issuer: server ?? address, givenTo: session)
    }
}

extension ClientRegistration.Purpose {
    fileprivate init(issuer: String, givenTo session: SessionName) {
        self.init(issuer: issuer, redirectURI: "", authentication: Self.authentication(of: session))
    }

    fileprivate static func authentication(of session: SessionName) -> String { "given to \(session)" }
}

/// Secrets of clients that people have registered, given to be kept sealed beside those of registered clients.
extension Registrar {
    /// The secret that was given for `client`; `nil`: there is none, or the store is locked.
    ///
    /// The newest comes first. Where the server has rejected that, and the one before it may still be right, it is their
    /// turn one after the other until one has worked.
    func givenSecret(for purpose: ClientRegistration.Purpose, of client: String) async -> SecretID? {
        let given = await given(for: purpose, of: client).compactMap(\.secret)
        if given.allSatisfy(rejectedSecrets.contains) { rejectedSecrets.subtract(given) }
        return given.last { !rejectedSecrets.contains($0) }
    }

    /// The server has taken `secret`: those that were given before or after it are forgotten.
    func accepted(_ secret: SecretID, for purpose: ClientRegistration.Purpose, of client: String) async {
        let given = await given(for: purpose, of: client)
        guard given.count > 1, given.contains(where: { $0.secret == secret }) else { return }
        for registration in given where registration.secret != secret { await forget(registration) }
    }

    /// The server has rejected `secret`.
    func rejected(_ secret: SecretID) {
        rejectedSecrets.insert(secret)
    }

    private func forget(_ registration: ClientRegistration) async {
        if let secret = registration.secret { rejectedSecrets.remove(secret) }
        await drop(registration)
    }

    /// Keeps `secret`, which is durable then; the one before it is kept too until this one has worked.
    ///
    /// - Parameters:
    ///   - secret: belongs to the store from now on, and is erased if that cannot keep it.
    ///   - purpose: what it is for.
    ///   - client: whose it is.
    /// - Throws: why it is not kept; one from before still is.
    func keep(
        given secret: SecretID,
        for purpose: ClientRegistration.Purpose,
        of client: String
    ) async throws(StorageFailure) {
        let old = await given(as: purpose.authentication)
        var registration = ClientRegistration(
            purpose: purpose,
            clientID: client,
            redirectURIs: [],
            method: ClientRegistration.given
        )
        registration.secret = secret
        try await store.keep(registration)
        // Of several that have not worked yet, the first may have done so before.
        for registration in old.dropFirst(old.first?.isClient(client, at: purpose.issuer) == true ? 1 : 0) {
            await forget(registration)
        }
    }

    /// Forgets whatever was given to `session`.
    func forgetSecrets(givenTo session: SessionName) async {
        let authentication = ClientRegistration.Purpose.authentication(of: session)
        for registration in await given(as: authentication) { await forget(registration) }
    }

    private func given(
        for purpose: ClientRegistration.Purpose,
        of client: String
    ) async -> [ClientRegistration] {
        await store.registrations().filter {
            $0.purpose == purpose && $0.isClient(client, at: purpose.issuer)
        }
    }

    private func given(as authentication: String) async -> [ClientRegistration] {
        await store.registrations().filter { $0.purpose.authentication.bytewise == authentication.bytewise }
    }
}
