// SPDX-License-Identifier: MIT

import NIOSSL
import SealedStore
import Text
import TokenCore

/// The certificate by which a client proves itself in the TLS handshake (RFC 8705 §2), read anew for every request.
struct ClientCertificate: Sendable {
    /// `client_certificate_file`.
    let path: String
    /// Reads its key.
    let key: SecretReader

    /// What the next handshake shows.
    ///
    /// - Parameter tools: the clock, the memory that has the key, and what reads files out of reach.
    /// - Returns: certificate and key, which belong together and are valid now.
    /// - Throws: `helper_failed` if the files or the program do not work now, `misconfigured` with what to fix, `busy` while
    ///   sealed memory is locked.
    func identity(_ tools: ServerDependencies) async throws(RefreshFailure) -> HandshakeIdentity {
        let chain = try await chain(tools)
        guard let secret = try await key.read() else { throw failure("has no key", .misconfigured) }
        let text = try tools.memory.text(of: secret)
        let block: PEMBlock
        do throws(SigningKey.Problem) {
            block = try PEMBlock.privateKey(in: text)
        } catch {
            guard error != .noKey(instead: nil) else {
                throw RefreshFailure(kind: .helperFailed, message: "\(key.origin): holds no key as PEM")
            }
            throw error.failure(of: key)
        }
        return try identity(of: chain, block)
    }

    private func identity(
        of chain: [NIOSSLCertificate],
        _ block: PEMBlock
    ) throws(RefreshFailure) -> HandshakeIdentity {
        let text = block.bytes.map { PEMBlock.text(block.label, $0) } ?? ""
        guard let key = try? NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem) else {
            throw RefreshFailure(
                kind: .helperFailed,
                message: "\(self.key.origin): the key is damaged or of a kind that is not supported"
            )
        }
        let identity = HandshakeIdentity(chain: chain, key: key)
        guard identity.belongsTogether else {
            throw failure("does not belong to the key in \(self.key.origin)")
        }
        return identity
    }

    private func chain(_ tools: ServerDependencies) async throws(RefreshFailure) -> [NIOSSLCertificate] {
        let file = ReloadableFile(key: "client_certificate_file", path: path, access: .readers)
        let bytes = try await file.read(tools.commands)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), let own = chain.first else {
            throw failure("holds no PEM certificate")
        }
        let now = tools.timekeeper.wallTime.secondsSince1970
        let (start, end) = (Int64(own.notValidBefore), Int64(own.notValidAfter))
        guard end >= now else {
            let days = (now - end) / 86_400
            throw failure(
                "the certificate expired \(days == 0 ? "today" : "\(days) days ago")",
                remedy: "renew it"
            )
        }
        guard start <= now else {
            throw failure("the certificate is not valid yet", remedy: "check this machine's clock")
        }
        return chain
    }

    /// By default one that another program may end: it renews certificate and key, one after the other.
    private func failure(
        _ message: String,
        _ kind: FailureClass = .helperFailed,
        remedy: String? = nil
    ) -> RefreshFailure {
        RefreshFailure(
            kind: kind,
            message: "client_certificate_file \(path): \(message)",
            remedy: remedy
        )
    }
}

/// A certificate with its key, as a TLS handshake shows them; lives for one request.
struct HandshakeIdentity: Sendable {
    /// The client's own certificate, then those that lead to its authority.
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// Makes a TLS context show it.
    func apply(to configuration: inout TLSConfiguration) {
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
    }

    /// Whether the key is that of the certificate, which the TLS library finds out.
    fileprivate var belongsTogether: Bool {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([])
        apply(to: &configuration)
        return (try? NIOSSLContext(configuration: configuration)) != nil
    }
}
