// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

extension ServerProfile {
    /// The purpose under which the store keeps the client secret given to this session, or `nil` if it keeps
    /// none.
    ///
    /// The secret is used only by this session, for its client and at its server. An issuer that replaces
    /// another in the configuration does not get it.
    var givenSecret: ClientRegistration.LookupKey? {
        guard case .given(let session) = client.proof.secret else { return nil }
        let identity = kind.identity
        // For a resource this is the configured issuer: the resource's own address must not replace it.
        let server: String? =
            switch kind {
            case .oidc(let issuer, let metadata): metadata ?? issuer
            case .resource(let resource): resource.metadata ?? resource.issuer
            default: nil
            }
        let address = [identity.address, identity.pool].compactMap(\.self).joined(separator: " ")
        return ClientRegistration.LookupKey(issuer: server ?? address, givenTo: session)
    }
}

extension ClientRegistration.LookupKey {
    fileprivate init(issuer: String, givenTo session: SessionName) {
        self.init(issuer: issuer, redirectURI: "", authentication: Self.authentication(of: session))
    }

    fileprivate static func authentication(of session: SessionName) -> String { "given to \(session)" }
}

/// The secrets of manually registered clients, kept sealed next to those of clients that a server registered.
extension Registrar {
    /// Returns the secret that the user gave for `client`, or `nil` if there is none or the store is locked.
    ///
    /// The newest comes first. If the server has rejected it and the previous one may still be right, both
    /// are tried alternately until one has worked.
    func givenSecret(for purpose: ClientRegistration.LookupKey, of client: String) async -> SecretID? {
        let given = await given(for: purpose, of: client).compactMap(\.secret)
        if given.allSatisfy(rejectedSecrets.contains) { rejectedSecrets.subtract(given) }
        return given.last { !rejectedSecrets.contains($0) }
    }

    /// Records that the server accepted `secret`.
    ///
    /// The secrets given before or after it are forgotten.
    func accepted(_ secret: SecretID, for purpose: ClientRegistration.LookupKey, of client: String) async {
        let given = await given(for: purpose, of: client)
        guard given.count > 1, given.contains(where: { $0.secret == secret }) else { return }
        for registration in given where registration.secret != secret { await forget(registration) }
    }

    /// Records that the server rejected `secret`.
    func rejected(_ secret: SecretID) {
        rejectedSecrets.insert(secret)
    }

    private func forget(_ registration: ClientRegistration) async {
        if let secret = registration.secret { rejectedSecrets.remove(secret) }
        await drop(registration)
    }

    /// Stores `secret` durably.
    ///
    /// The previous secret is also kept until the new one has worked.
    ///
    /// - Parameters:
    ///   - secret: The secret. The store owns it from now on, and it is erased if the store cannot keep it.
    ///   - purpose: The purpose of the secret.
    ///   - client: The client ID that it belongs to.
    /// - Throws: The reason the secret is not stored. The previous one is still stored then.
    func keep(
        given secret: SecretID,
        for purpose: ClientRegistration.LookupKey,
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
        // Of several that have not worked yet, the first may have worked earlier.
        for registration in old.dropFirst(old.first?.isClient(client, at: purpose.issuer) == true ? 1 : 0) {
            await forget(registration)
        }
    }

    /// Forgets all secrets given to `session`.
    func forgetSecrets(givenTo session: SessionName) async {
        let authentication = ClientRegistration.LookupKey.authentication(of: session)
        for registration in await given(as: authentication) { await forget(registration) }
    }

    private func given(
        for purpose: ClientRegistration.LookupKey,
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
