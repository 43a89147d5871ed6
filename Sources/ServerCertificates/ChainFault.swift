// SPDX-License-Identifier: MIT

import NIOSSL
import Text

/// Why the certificates that a server shows are not trusted, as far as they tell.
///
/// The TLS library says no more than that they are not. Nothing is believed because of this: it is for a message.
package enum ChainFault: Equatable, Sendable {
    /// The name of an authority is text of the server; `nil`: it is the server's own certificate.
    case expired(authority: String?, at: Int64)
    case notYetValid(authority: String?, from: Int64)
    /// The server's certificate is for something else than servers.
    case otherPurpose
    case signedByItself
    case unknownAuthority(String)

    /// Looks for the reason in what is shown; `nil` without a certificate that can be read.
    ///
    /// - Parameters:
    ///   - chain: as the server shows it, its own certificate first.
    ///   - now: seconds since 1970.
    package init?(_ chain: [NIOSSLCertificate], at now: Int64) {
        guard let leaf = chain.first, let last = chain.last,
            let own = (try? leaf.toDERBytes()).flatMap({ CertificateFields($0) }),
            let top = (try? last.toDERBytes()).flatMap({ CertificateFields($0) })
        else { return nil }
        for (number, certificate) in chain.enumerated() {
            let authority =
                number == 0
                ? nil : (try? certificate.toDERBytes()).flatMap { CertificateFields($0) }?.subjectName
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
        if !own.isForServers {
            self = .otherPurpose
        } else if own.issuer == own.subject {
            self = .signedByItself
        } else {
            self = .unknownAuthority(top.issuerName)
        }
    }

    /// Whether naming an authority may help.
    package var concernsAuthority: Bool {
        switch self {
        case .signedByItself, .unknownAuthority: true
        case .expired, .notYetValid, .otherPurpose: false
        }
    }

    /// A clause for a person; the name of an authority in it has not been cleaned.
    package var sentence: String {
        switch self {
        case .expired(let authority, let time):
            "\(ChainFault.subject(authority)) expired on \(ChainFault.day(time))"
        case .notYetValid(let authority, let time):
            "\(ChainFault.subject(authority)) is not valid before \(DurationPhrase.rfc3339(time)): is this computer's clock right?"
        case .otherPurpose:
            "the server's certificate is not one for servers (its extended key usage lacks serverAuth)"
        case .signedByItself: "the server's certificate is signed by itself, not by an authority known here"
        case .unknownAuthority(let name):
            "the server's certificate is signed by \(name), an authority that is not known here"
        }
    }

    private static func subject(_ authority: String?) -> String {
        authority.map { "the certificate of the server's authority \($0)" } ?? "the server's certificate"
    }

    private static func day(_ seconds: Int64) -> String {
        String(decoding: Array(DurationPhrase.rfc3339(seconds).utf8.prefix(10)), as: UTF8.self)
    }
}

/// What a certificate says of itself (RFC 5280 §4.1), for messages.
private struct CertificateFields {
    let issuer: [UInt8]
    let subject: [UInt8]
    /// Whether it may be a server's (RFC 5280 §4.2.1.12): it has no extended key usage, or that.
    let isForServers: Bool

    private static let extendedKeyUsage: [UInt8] = [0x55, 0x1D, 0x25]
    private static let serverUses: [[UInt8]] = [
        [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01], [0x55, 0x1D, 0x25, 0x00],
    ]
    private static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    private static let organization: [UInt8] = [0x55, 0x04, 0x0A]

    init?(_ certificate: [UInt8]) {
        var outer = DERReader(certificate[...])
        guard var fields = outer.sequence(), var body = fields.sequence(), var field = body.next() else {
            return nil
        }
        // The version is optional, and the serial number follows.
        if field.tag == 0xA0 { guard body.next() != nil else { return nil } }
        guard body.next() != nil, let issuer = body.next(), body.next() != nil, let subject = body.next(),
            body.next() != nil
        else { return nil }
        self.issuer = Array(issuer.content)
        self.subject = Array(subject.content)
        var uses: [[UInt8]]?
        while let next = body.next() {
            field = next
            guard field.tag == 0xA3 else { continue }
            var wrapped = DERReader(field.content)
            guard var extensions = wrapped.sequence() else { return nil }
            while var one = extensions.sequence() {
                guard let name = one.next(), Array(name.content) == CertificateFields.extendedKeyUsage,
                    var value = one.next()
                else { continue }
                // It may say whether it is critical.
                if value.tag == 0x01, let next = one.next() { value = next }
                var content = DERReader(value.content)
                guard var list = content.sequence() else { continue }
                var found: [[UInt8]] = []
                while let use = list.next() { found.append(Array(use.content)) }
                uses = found
            }
        }
        isForServers =
            uses.map { uses in CertificateFields.serverUses.contains { uses.contains($0) } } ?? true
    }

    var subjectName: String { CertificateFields.name(subject) }
    var issuerName: String { CertificateFields.name(issuer) }

    /// The common name, else the organization.
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
        return (parts[commonName] ?? parts[organization]).map { "\"\($0)\"" } ?? "an authority without a name"
    }
}
