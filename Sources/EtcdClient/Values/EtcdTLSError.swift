// SPDX-License-Identifier: MIT

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
            self == .key ? "private key as PEM, or one with a passphrase" : "certificate as PEM"
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
    /// The member's certificate is for other hosts.
    case otherHost
    /// The member requires a certificate, and got none.
    case noCertificate
    /// The member rejects this host's certificate.
    case refusedCertificate
    /// This host's certificate has expired.
    case expiredCertificate
    /// The member's own gateway uses a certificate that the member rejects.
    ///
    /// The value is the gateway's message.
    case gateway(String)

    /// The error, without a full stop.
    package var sentence: String {
        switch self {
        case .noPEM(let file): "what \(file.setting) names holds no \(file.content)"
        case .otherKey: "the key in certificate_key_file is not that of the certificate in certificate_file"
        case .unknownAuthority:
            "the member's certificate is not signed by an authority known here, or not valid now"
        case .otherHost: "the member's certificate is for another host name"
        case .noCertificate: "the member wants a certificate of this host"
        case .refusedCertificate: "the member does not take our certificate"
        case .expiredCertificate: "our certificate is not valid any more"
        case .gateway(let words): "the gateway cannot use its client certificate (\(words))"
        }
    }

    /// The remedy.
    package var remedy: String {
        switch self {
        case .noPEM(.authorities): "name the PEM file of the authority of etcd's certificates in ca_file"
        case .noPEM, .otherKey:
            "name our certificate in certificate_file and its key in certificate_key_file, as PEM and without a passphrase"
        case .unknownAuthority:
            "name the authority of etcd's certificates in ca_file, and look at the certificate's dates and the clock here"
        case .otherHost:
            "write a name of the member's certificate into endpoints, or give the member a certificate for this name"
        case .noCertificate: "name our certificate in certificate_file, and its key in certificate_key_file"
        case .refusedCertificate:
            "have certificate_file signed by the authority in etcd's trusted-ca-file, for clients (clientAuth), and valid now"
        case .expiredCertificate: "renew the certificate in certificate_file"
        case .gateway: EtcdTLSError.wantsClientUse
        }
    }

    /// The remedy for a member that does not trust its own gateway.
    static let wantsClientUse =
        "with --client-cert-auth the members' own certificates need the extended key usage clientAuth too"
}
