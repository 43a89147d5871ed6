// SPDX-License-Identifier: MIT

import NIOSSL
import ServerSettings
import Synchronization
import Text
import TokenCore

/// What guarded connections begin TLS with, kept for those with the same settings: a context has read the system's
/// certificates.
final class TLSContexts: Sendable {
    private struct Key: Hashable {
        var credentials: LoadedServerTrust
        var checksName: Bool
        var keepsKeys: Bool
    }

    /// What one connection begins TLS with.
    struct Security: Sendable {
        var context: NIOSSLContext
        /// `nil`: the server is named by its address, which ``ConnectionVerifier`` compares.
        var name: String?
        var keys: KeyLog

        func makeHandler() throws -> NIOSSLClientHandler {
            try NIOSSLClientHandler(context: context, serverHostname: name)
        }
    }

    private let keys = KeyLog()
    private let contexts: Mutex<[Key: NIOSSLContext]> = Mutex([:])

    /// What a connection to `url` begins TLS with; `nil`: it speaks none.
    ///
    /// With `keepsKeys`, what opens a recording of the connection is kept until somebody takes it.
    ///
    /// - Throws: `helperFailed` if a file with certificates changes at this moment.
    func security(
        to url: EndpointURL,
        _ credentials: LoadedServerTrust,
        _ identity: HandshakeIdentity?,
        keepsKeys: Bool
    ) throws(TransportFailure) -> Security? {
        guard url.isTLS else { return nil }
        let isAddress = IPAddress(url.host) != nil
        let key = Key(credentials: credentials, checksName: !isAddress, keepsKeys: keepsKeys)
        if identity == nil, let known = contexts.withLock({ $0[key] }) {
            return Security(context: known, name: isAddress ? nil : url.host, keys: keys)
        }
        var configuration = credentials.configuration
        // A library that looks at the channel's other end would find our guard there.
        if isAddress { configuration.certificateVerification = .noHostnameVerification }
        identity?.apply(to: &configuration)
        // Nobody waits for a server to say good-bye: the library would keep what it has read meanwhile.
        configuration.shutdownTimeout = .zero
        if keepsKeys { configuration.keyLogCallback = { [keys] in keys.note($0) } }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            let message = "cannot start TLS with these certificates"
            throw .helperFailed(RefreshFailure(kind: .helperFailed, message: message))
        }
        // A key that was shown to one server is not to stay.
        if identity == nil {
            contexts.withLock { contexts in
                // Those of certificates that the system no longer has.
                contexts = contexts.filter { $0.key.credentials.system == credentials.system }
                contexts[key] = context
            }
        }
        return Security(context: context, name: isAddress ? nil : url.host, keys: keys)
    }
}
