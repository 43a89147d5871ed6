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
        let server = identity.kind == .oidc ? identity.issuer : nil
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
    func givenSecret(for purpose: ClientRegistration.Purpose, of client: String) async -> SecretID? {
        await store.registrations().last {
            $0.purpose == purpose && $0.isClient(client, at: purpose.issuer)
        }?.secret
    }

    /// Keeps `secret`, which is durable then, in place of what was given to the same session before.
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
        for registration in old { await drop(registration) }
    }

    /// Forgets whatever was given to `session`.
    func forgetSecrets(givenTo session: SessionName) async {
        let authentication = ClientRegistration.Purpose.authentication(of: session)
        for registration in await given(as: authentication) { await drop(registration) }
    }

    private func given(as authentication: String) async -> [ClientRegistration] {
        await store.registrations().filter { $0.purpose.authentication.bytewise == authentication.bytewise }
    }
}
