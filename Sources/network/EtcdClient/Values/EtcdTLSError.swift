// SPDX-License-Identifier: MIT

import Text

/// The reason a member and this host do not trust each other.
package enum EtcdTLSError: Equatable, Sendable {
    /// A file named by the settings.
    package enum OwnFile: Equatable, Sendable {
        case authorities
        case certificate
        case key

        /// The setting that names the file.
        fileprivate var setting: String {
            switch self {
            case .authorities: "ca_file"
            case .certificate: "certificate_file"
            case .key: "certificate_key_file"
            }
        }

        /// The required content of the file, with the usual cause of other content.
        fileprivate var content: String {
            self == .key ? "private key as PEM without passphrase" : "certificate as PEM"
        }
    }

    /// The file does not contain the required PEM.
    case noPEM(OwnFile)
    /// This host's key does not belong to its certificate.
    case otherKey
    /// The member's certificate is signed by an unknown CA or is not valid now.
    ///
    /// The library does not tell which.
    case unknownAuthority
    /// The member's certificate is for other host names.
    case otherHost
    /// The member requires a certificate of this host, and got none.
    case noCertificate
    /// The member rejects this host's certificate.
    case refusedCertificate
    /// This host's certificate has expired.
    case expiredCertificate
    /// The member's gateway authenticates to the member with a certificate that the member rejects.
    ///
    /// The value is the gateway's message.
    case gateway(String)

    /// The error, without a full stop.
    package var sentence: String {
        switch self {
        case .noPEM(let file): "the file in \(file.setting) has no \(file.content)"
        case .otherKey: "the key in certificate_key_file does not match the certificate in certificate_file"
        case .unknownAuthority:
            "etcd's certificate is not trusted (unknown CA, expired or not yet valid)"
        case .otherHost: "etcd's certificate is for another host name"
        case .noCertificate: "etcd requires a client certificate"
        case .refusedCertificate: "etcd rejected this host's certificate"
        case .expiredCertificate: "this host's certificate has expired"
        case .gateway(let words): "the gateway cannot use its client certificate (\(words))"
        }
    }

    /// The remedy.
    package var remedy: Remedy {
        switch self {
        case .noPEM(.authorities), .unknownAuthority:
            .setAndRestart(
                "fleet.ca_file to the PEM file of etcd's certificate authority"
            )
        case .noPEM, .otherKey:
            .setAndRestart(
                "fleet.certificate_file and fleet.certificate_key_file to a PEM certificate and its key without passphrase"
            )
        case .otherHost:
            .setAndRestart(
                "fleet.endpoints to a host name in the member's certificate"
            )
        case .noCertificate:
            .setAndRestart(
                "fleet.certificate_file and fleet.certificate_key_file"
            )
        case .refusedCertificate:
            .setAndRestart(
                "fleet.certificate_file to a clientAuth certificate signed by the CA in etcd's trusted-ca-file"
            )
        case .expiredCertificate: .retry("with a renewed certificate in fleet.certificate_file")
        case .gateway: EtcdTLSError.wantsClientUse
        }
    }

    /// The remedy for a member that does not trust its own gateway.
    static let wantsClientUse = Remedy.set(
        "the extended key usage clientAuth in the certificates of etcd's members"
    )
}
