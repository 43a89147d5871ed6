// SPDX-License-Identifier: MIT

import NIOCore
import NIOSSL
import Text

/// Who a server has to prove to be: the host that its URL names (RFC 9110 §4.3.4).
///
/// The TLS library compares the host as well, but is content with a certificate for the address that the name has led
/// to. Whoever decides where a name leads could get one for an address of his own. It also takes the common name of a
/// certificate without other names, which is no host name by definition (RFC 9525 §2).
package enum ServerIdentity: Hashable, Sendable {
    /// In lower case, without a dot at the end.
    case name([UInt8])
    case address(IPAddress)

    /// - Parameter host: as the URL has it; an IPv6 address with brackets or without.
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

    /// Whether `certificate`, whose chain is verified, is for this host.
    package func isProven(by certificate: NIOSSLCertificate) -> Bool {
        certificate._subjectAlternativeNames().contains { name in
            switch (self, name.nameType) {
            case (.name(let host), .dnsName): ServerIdentity.covers(Array(name.contents), host)
            case (.address(let address), .ipAddress): Array(name.contents) == address.bytes
            default: false
            }
        }
    }

    /// Fails, and closes the connection, when the server at the other end of `channel` is not this host.
    ///
    /// For new connections of the HTTP library, whose handshake is over and which have carried nothing else. Fails with
    /// ``ForeignServer``; without TLS there is no proof.
    package func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        let verdict = channel.nioSSL_peerCertificate().flatMapErrorThrowing { _ in nil }
            .flatMapThrowing { certificate in
                guard let certificate, isProven(by: certificate) else { throw ForeignServer() }
            }
        // Closed one turn later: the pool must have heard of the refusal first.
        verdict.whenFailure { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
        return verdict
    }

    /// Compares a `dNSName`, in which an asterisk stands for the whole first label (RFC 9525 §6.3).
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

/// The server has a certificate, but not for the host that was to be reached.
package struct ForeignServer: Error, Equatable {
    package init() {}
}
