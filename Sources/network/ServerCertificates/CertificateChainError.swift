// SPDX-License-Identifier: MIT

import NIOSSL
import Text

/// The reason a server's certificates are not trusted, as far as they show it.
///
/// The TLS library reports only that they are not trusted. The reason is used in messages only, never in a
/// decision.
package enum CertificateChainError: Equatable, Sendable {
    /// A certificate has expired.
    ///
    /// `authority` is its name as sent by the server, or `nil` for the server's own certificate.
    case expired(authority: String?, at: Int64)
    case notYetValid(authority: String?, from: Int64)
    /// The server's certificate is for another purpose than servers.
    case otherPurpose
    case signedByItself
    case unknownAuthority(String)
    /// The trusted CA may certify only some IP addresses, which the TLS library cannot compare.
    case limitsAddresses(authority: String)

    /// Finds the reason in a chain, or returns `nil` without a readable certificate.
    ///
    /// - Parameters:
    ///   - chain: the chain as sent by the server, its own certificate first.
    ///   - anchors: the trusted certificates in addition to the system's.
    ///   - now: the time in seconds since 1970.
    package init?(_ chain: [NIOSSLCertificate], anchors: [NIOSSLCertificate], at now: Int64) {
        let shown = chain.map(CertificateFields.init(of:))
        guard let own = shown.first ?? nil, let top = shown.last ?? nil else { return nil }
        for (number, certificate) in chain.enumerated() {
            let authority = number == 0 ? nil : shown[number]?.subjectName
            let (start, end) = (Int64(certificate.notValidBefore), Int64(certificate.notValidAfter))
            if end < now {
                self = .expired(authority: authority, at: end)
                return
            }
            if start > now {
                self = .notYetValid(authority: authority, from: start)
                return
            }
        }
        let issuers = shown.compactMap { $0?.issuer }
        let trusted = anchors.compactMap(CertificateFields.init(of:)).filter { issuers.contains($0.subject) }
        let authorities = trusted + shown.dropFirst().compactMap(\.self)
        if !own.isForServers {
            self = .otherPurpose
        } else if own.namesAddresses, !trusted.isEmpty,
            let limited = authorities.first(where: { $0.limitsAddresses })
        {
            self = .limitsAddresses(authority: limited.subjectName)
        } else if own.issuer == own.subject {
            self = .signedByItself
        } else {
            self = .unknownAuthority(top.issuerName)
        }
    }

    /// Whether configuring a CA may help.
    package var concernsAuthority: Bool {
        switch self {
        case .signedByItself, .unknownAuthority: true
        case .expired, .notYetValid, .otherPurpose, .limitsAddresses: false
        }
    }

    /// The reason as a clause.
    ///
    /// The name of a CA in it is not sanitized.
    package var sentence: String {
        switch self {
        case .expired(let authority, let time):
            "\(CertificateChainError.subject(authority)) expired on \(CertificateChainError.day(time))"
        case .notYetValid(let authority, let time):
            "\(CertificateChainError.subject(authority)) is not valid before \(DurationPhrase.rfc3339(time)) "
                + Remedy.set("the clock of this machine").parenthesized
        case .otherPurpose:
            "the server's certificate is not for servers (no serverAuth in its extended key usage)"
        case .signedByItself: "the server's certificate is self-signed and not trusted"
        case .unknownAuthority(let name):
            "the server's certificate is signed by an unknown CA: \(name)"
        case .limitsAddresses(let name):
            "the server's CA \(name) is limited to some IP addresses, which is not supported"
        }
    }

    private static func subject(_ authority: String?) -> String {
        authority.map { "the certificate of the server's CA \($0)" } ?? "the server's certificate"
    }

    private static func day(_ seconds: Int64) -> String {
        String(decoding: Array(DurationPhrase.rfc3339(seconds).utf8.prefix(10)), as: UTF8.self)
    }
}

/// The fields of a certificate (RFC 5280 §4.1), for messages.
private struct CertificateFields {
    let issuer: [UInt8]
    let subject: [UInt8]
    /// The values of the extensions (RFC 5280 §4.2), by identifier.
    private let extensions: [[UInt8]: [UInt8]]

    private static let alternativeNames: [UInt8] = [0x55, 0x1D, 0x11]
    private static let nameConstraints: [UInt8] = [0x55, 0x1D, 0x1E]
    private static let extendedKeyUsage: [UInt8] = [0x55, 0x1D, 0x25]
    private static let serverUses: [[UInt8]] = [
        [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01], [0x55, 0x1D, 0x25, 0x00],
    ]
    private static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    private static let organization: [UInt8] = [0x55, 0x04, 0x0A]
    /// The tag `iPAddress [7]` of a `GeneralName` (RFC 5280 §4.2.1.6).
    private static let address: UInt8 = 0x87

    init?(of certificate: NIOSSLCertificate) {
        guard let bytes = try? certificate.toDERBytes() else { return nil }
        var outer = DERReader(bytes[...])
        guard var fields = outer.sequence(), var body = fields.sequence(), let version = body.next() else {
            return nil
        }
        // The version is optional. The serial number follows.
        if version.tag == 0xA0 { guard body.next() != nil else { return nil } }
        guard body.next() != nil, let issuer = body.next(), body.next() != nil, let subject = body.next(),
            body.next() != nil
        else { return nil }
        self.issuer = Array(issuer.content)
        self.subject = Array(subject.content)
        var extensions: [[UInt8]: [UInt8]] = [:]
        while let field = body.next() {
            guard field.tag == 0xA3 else { continue }
            var wrapped = DERReader(field.content)
            guard var list = wrapped.sequence() else { return nil }
            while var one = list.sequence() {
                guard let name = one.next(), var value = one.next() else { continue }
                // A flag that tells whether the extension is critical may come first.
                if value.tag == 0x01, let next = one.next() { value = next }
                extensions[Array(name.content)] = Array(value.content)
            }
        }
        self.extensions = extensions
    }

    /// Whether the certificate may be a server's (RFC 5280 §4.2.1.12): it has that extended key usage, or
    /// none.
    var isForServers: Bool {
        guard var uses = values(of: CertificateFields.extendedKeyUsage) else { return true }
        while let use = uses.next() {
            if CertificateFields.serverUses.contains(Array(use.content)) { return true }
        }
        return false
    }

    /// Whether the certificate is for IP addresses (RFC 5280 §4.2.1.6).
    var namesAddresses: Bool {
        guard var names = values(of: CertificateFields.alternativeNames) else { return false }
        while let name = names.next() {
            if name.tag == CertificateFields.address { return true }
        }
        return false
    }

    /// Whether the certificate limits the IP addresses it may certify (RFC 5280 §4.2.1.10).
    var limitsAddresses: Bool {
        guard var sides = values(of: CertificateFields.nameConstraints) else { return false }
        while let side = sides.next() {
            var subtrees = DERReader(side.content)
            while var subtree = subtrees.sequence() {
                if subtree.next()?.tag == CertificateFields.address { return true }
            }
        }
        return false
    }

    /// Returns the sequence in the extension `name`, or `nil` without such an extension.
    private func values(of name: [UInt8]) -> DERReader? {
        extensions[name].flatMap { value in
            var reader = DERReader(value[...])
            return reader.sequence()
        }
    }

    var subjectName: String { CertificateFields.name(subject) }
    var issuerName: String { CertificateFields.name(issuer) }

    /// Returns the common name, otherwise the organization.
    private static func name(_ name: [UInt8]) -> String {
        var parts: [[UInt8]: String] = [:]
        var sets = DERReader(name[...])
        while let set = sets.next() {
            var pairs = DERReader(set.content)
            while var pair = pairs.sequence() {
                guard let type = pair.next(), let value = pair.next() else { break }
                parts[Array(type.content)] = String(decoding: value.content, as: UTF8.self)
            }
        }
        return (parts[commonName] ?? parts[organization]).map { "\"\($0)\"" } ?? "a CA without a name"
    }
}
