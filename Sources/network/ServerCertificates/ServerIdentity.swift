// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL
import Text

/// The host that a server's certificate must be for, which is the host of the URL (RFC 9110 §4.3.4).
///
/// The TLS library compares the host too, but also accepts a certificate for the address to which the name
/// resolved. An attacker who controls name resolution could get such a certificate for an address of their
/// own. The library also accepts the common name of a certificate without other names, which is not a host
/// name by definition (RFC 9525 §2).
///
/// - Entry points: ``ServerIdentity``, ``CertificateStrength``, ``CertificatePin``, ``SystemRoots``,
///   ``ConfiguredTrustAnchors``.
/// - May not: replace the verification of the TLS library. Every check here is an additional one.
package enum ServerIdentity: Hashable, Sendable {
    /// A host name in lower case, without a trailing dot.
    case name([UInt8])
    case address(IPAddress)

    /// Creates an identity.
    ///
    /// - Parameter host: the host as in the URL, where an IPv6 address may have brackets.
    package init(host: String) {
        let bytes = Array(host.utf8)
        let isBracketed = bytes.first == UInt8(ascii: "[") && bytes.last == UInt8(ascii: "]")
        let bare = isBracketed ? Array(bytes.dropFirst().dropLast()) : bytes
        if let address = IPAddress(String(decoding: bare, as: UTF8.self)) {
            self = .address(address)
        } else {
            self = .name(ServerIdentity.plain(bytes))
        }
    }

    /// Returns whether `certificate`, whose chain is verified, is for this host.
    package func isProven(by certificate: NIOSSLCertificate) -> Bool {
        certificate._subjectAlternativeNames().contains { name in
            switch (self, name.nameType) {
            case (.name(let host), .dnsName): ServerIdentity.covers(Array(name.contents), host)
            case (.address(let address), .ipAddress): Array(name.contents) == address.bytes
            default: false
            }
        }
    }

    /// Checks the server at the other end of `channel`, and closes the channel if the server is not this
    /// host.
    ///
    /// The HTTP library calls this for new connections after the handshake, before anything else is sent. The
    /// future fails with ``HostMismatchError``. A channel without TLS fails too.
    package func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        let verdict = channel.nioSSL_peerCertificate().flatMapErrorThrowing { _ in nil }
            .flatMapThrowing { certificate in
                guard let certificate, isProven(by: certificate) else { throw HostMismatchError() }
            }
        // Close one turn later, so that the pool learns of the failure first.
        verdict.whenFailure { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
        return verdict
    }

    /// Returns whether a `dNSName` matches a host.
    ///
    /// An asterisk stands for the whole first label (RFC 9525 §6.3).
    static func covers(_ pattern: [UInt8], _ host: [UInt8]) -> Bool {
        let pattern = plain(pattern)
        guard pattern.starts(with: "*.".utf8) else { return !host.isEmpty && pattern == host }
        guard let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return pattern.count > 2 && host[dot...] == pattern[1...]
    }

    private static func plain(_ name: [UInt8]) -> [UInt8] {
        (name.last == UInt8(ascii: ".") ? Array(name.dropLast()) : name).map(\.lowercasedASCII)
    }
}

/// An error: the server has a valid certificate, but not for the requested host.
package struct HostMismatchError: Error, Equatable {
    package init() {}
}
