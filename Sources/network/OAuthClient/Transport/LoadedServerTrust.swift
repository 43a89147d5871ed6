// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import ServerCertificates
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// A ``ServerTrust`` with its files read, used to make a TLS context.
struct LoadedServerTrust: Hashable {
    let extraRoots: [NIOSSLCertificate]
    let pins: [String]
    let system: SystemRoots

    /// Reads the CA file and checks whether the system's has changed.
    ///
    /// Both happen each time, so a repaired or replaced file takes effect at once.
    ///
    /// - Throws: `helperFailed` if the CA file cannot be read or has no certificate.
    init(_ trust: ServerTrust, system: SystemRoots = SystemRoots()) throws(TransportFailure) {
        pins = trust.pins
        self.system = system
        guard let path = trust.caFile else {
            extraRoots = []
            return
        }
        let origin = "ca_file \(path)"
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(path)
        } catch {
            throw .helperFailed(RefreshFailure(error, of: origin))
        }
        extraRoots = (try? ConfiguredTrustAnchors.read(pem: bytes)) ?? []
        guard !extraRoots.isEmpty else {
            let message = "\(origin): contains no PEM certificate"
            throw .helperFailed(RefreshFailure(kind: .helperFailed, message: message))
        }
    }

    /// Checks that at least one server could be trusted.
    ///
    /// - Throws: `helperFailed` if there is no trusted authority, perhaps because the system's file is being
    ///   replaced.
    func check() throws(TransportFailure) {
        guard extraRoots.isEmpty, let lack = system.lack else { return }
        let remedy = Remedy.set("\(SystemRoots.variable) or ca_file to a file of CA certificates")
        throw .helperFailed(RefreshFailure(kind: .helperFailed, message: lack, remedy: remedy))
    }

    /// The TLS settings: verification always on, TLS 1.2 or later, the system's authorities and those of
    /// `ca_file`.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        configuration.applicationProtocols = ["http/1.1"]
        configuration.trustRoots = system.trustRoots
        if !extraRoots.isEmpty { configuration.additionalTrustRoots = [.certificates(extraRoots)] }
        return configuration
    }
}

extension TransportFailure {
    /// Converts a failed handshake, which failed over trust or because the connection ended.
    init(handshake error: NIOSSLError) {
        switch error {
        case .handshakeFailed(.sslError(let stack)), .handshakeFailed(.unknownError(let stack)):
            let text = String(describing: stack)
            if text.contains("CERTIFICATE_VERIFY_FAILED") {
                self = .untrusted("certificate not trusted: unknown issuer, expired or not yet valid")
            } else if text.contains("NO_APPLICATION_PROTOCOL") {
                self = .insecure(
                    "the server supports only HTTP/2, but HTTP/1.1 is required"
                )
            } else if text.contains("VERSION") || text.contains("PROTOCOL") {
                self = .insecure("the server does not support TLS 1.2 or later")
            } else if stack.isEmpty || text.contains("EOF") {
                // The server closed without a TLS alert, so the cause is unknown.
                self = .unreachable("the server closed the connection during the TLS handshake")
            } else {
                self = .insecure("the TLS handshake failed")
            }
        case .unableToValidateCertificate, .noCertificateToValidate:
            self = .untrusted("cannot verify the server's certificate")
        default:
            self = .unreachable("the server closed the connection during the TLS handshake")
        }
    }
}

extension NIOConnectionError {
    /// The error of the last address tried, such as "Connection refused".
    package var reason: String {
        guard let last = connectionErrors.last?.error else { return "cannot resolve the host name" }
        guard let error = last as? IOError else { return "connection timed out" }
        return SystemErrorText.text(error.errnoCode)
    }
}

extension Duration {
    var nanoseconds: Int64 { saturatedNanoseconds }
}

/// The environment variable that names the file with the system's certificates.
package enum CertificateVariable {
    package static let name = SystemRoots.variable
}
