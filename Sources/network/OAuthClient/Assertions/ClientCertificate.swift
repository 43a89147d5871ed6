// SPDX-License-Identifier: MIT

import Crypto
import NIOSSL
import SecretMemory
import Text
import TokenCore

/// The certificate that authenticates a client in the TLS handshake (RFC 8705 §2), read for every request.
struct ClientCertificate: Sendable {
    /// The path in `client_certificate_file`.
    let path: String
    /// The reader of the certificate's key.
    let key: SecretReader

    /// Reads the certificate and key for the next handshake.
    ///
    /// - Parameter tools: The clock, the memory with the key, and the means to read files outside the
    ///   sandbox.
    /// - Returns: A certificate that is valid now, and the key that belongs to it.
    /// - Throws: `helper_failed` if the files or the program do not work now, `misconfigured` with the
    ///   remedy, or `busy` while sealed memory is locked.
    func identity(_ tools: ServerDependencies) async throws(RefreshFailure) -> HandshakeIdentity {
        let chain = try await chain(tools)
        guard let secret = try await key.read() else { throw failure("has no key", .misconfigured) }
        return try identity(of: chain, withKeyIn: secret, tools.memory)
    }

    private func identity(
        of chain: [NIOSSLCertificate],
        withKeyIn secret: SecretID,
        _ memory: SealedMemory
    ) throws(RefreshFailure) -> HandshakeIdentity {
        let text = try memory.text(of: secret)
        let block: PEMBlock
        do throws(SigningKey.Problem) {
            block = try PEMBlock.privateKey(in: text)
        } catch {
            guard error != .noKey(instead: nil) else {
                throw RefreshFailure(kind: .helperFailed, message: "\(key.origin): contains no PEM key")
            }
            throw error.failure(of: key)
        }
        return try identity(of: chain, block)
    }

    /// Returns the SHA-256 thumbprint of the certificate (RFC 7515 §4.1.8), which is checked like one for a
    /// handshake.
    ///
    /// The key is already read: reading it again would erase it.
    func thumbprint(
        withKeyIn secret: SecretID,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> String {
        let chain = try await chain(tools)
        _ = try identity(of: chain, withKeyIn: secret, tools.memory)
        guard let bytes = try? chain[0].toDERBytes() else { throw failure("contains no PEM certificate") }
        return Base64.urlEncoded(SHA256.hash(data: bytes))
    }

    private func identity(
        of chain: [NIOSSLCertificate],
        _ block: PEMBlock
    ) throws(RefreshFailure) -> HandshakeIdentity {
        let text = block.bytes.map { PEMBlock.text(block.label, $0) } ?? ""
        guard let key = try? NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem) else {
            throw RefreshFailure(
                kind: .helperFailed,
                message: "\(self.key.origin): the key is damaged or of an unsupported type"
            )
        }
        let identity = HandshakeIdentity(chain: chain, key: key)
        guard identity.belongsTogether else {
            throw failure("does not match the key in \(self.key.origin)")
        }
        return identity
    }

    private func chain(_ tools: ServerDependencies) async throws(RefreshFailure) -> [NIOSSLCertificate] {
        let file = ReloadableFile(key: "client_certificate_file", path: path, access: .readers)
        let bytes = try await file.read(tools.commands)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), let own = chain.first else {
            throw failure("contains no PEM certificate")
        }
        let now = tools.timekeeper.wallTime.secondsSince1970
        let (start, end) = (Int64(own.notValidBefore), Int64(own.notValidAfter))
        guard end >= now else {
            let days = (now - end) / 86_400
            throw failure(
                "the certificate expired \(days == 0 ? "today" : "\(days) days ago")",
                remedy: .retry("with a renewed certificate")
            )
        }
        guard start <= now else {
            throw failure("the certificate is not valid yet", remedy: .set("the clock of this machine"))
        }
        return chain
    }

    /// Returns a failure, by default a temporary one: another program renews the certificate and then the
    /// key.
    private func failure(
        _ message: String,
        _ kind: FailureClass = .helperFailed,
        remedy: Remedy? = nil
    ) -> RefreshFailure {
        RefreshFailure(
            kind: kind,
            message: "client_certificate_file \(path): \(message)",
            remedy: remedy
        )
    }
}
