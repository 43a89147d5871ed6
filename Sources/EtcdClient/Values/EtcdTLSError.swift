// SPDX-License-Identifier: MIT

/// Why a member and this host do not trust each other.
package enum EtcdTLSError: Equatable, Sendable {
    /// A file that the settings name, by what it has to hold.
    package enum OwnFile: Equatable, Sendable {
        case authorities
        case certificate
        case key

        /// The setting that names it.
        fileprivate var setting: String {
            switch self {
            case .authorities: "ca_file"
            case .certificate: "certificate_file"
            case .key: "certificate_key_file"
            }
        }

        /// What it has to hold, with what else it may be.
        fileprivate var content: String {
            self == .key ? "private key as PEM, or one with a passphrase" : "certificate as PEM"
        }
    }

    /// It does not hold what it has to.
    case noPEM(OwnFile)
    /// Our certificate has another key than ours.
    case otherKey
    /// The member's certificate is signed by somebody else, or its time is over: the library does not tell which.
    case unknownAuthority
    /// The member's certificate is for other hosts.
    case otherHost
    /// The member wants a certificate, and has got none.
    case noCertificate
    /// The member does not take our certificate.
    case refusedCertificate
    /// Our certificate was good once.
    case expiredCertificate
    /// The gateway of a member shows the member a certificate that it does not take; with the gateway's words.
    case gateway(String)

    /// What is wrong, without a full stop.
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

    /// What helps.
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

    /// What helps a member that does not trust its own gateway.
    static let wantsClientUse =
        "with --client-cert-auth the members' own certificates need the extended key usage clientAuth too"
}
