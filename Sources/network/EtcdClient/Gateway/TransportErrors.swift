// SPDX-License-Identifier: MIT

import AgentProtocol
import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import ServerCertificates

/// The translation of the HTTP library's errors to ``EtcdFailure``s.
struct TransportErrors: Sendable {
    /// The progress of a request.
    enum Stage {
        /// The request has not been sent.
        case connecting
        /// The request may have been sent.
        ///
        /// No response has begun.
        case sent
        /// The head of the response has arrived.
        case answering
    }

    /// Whether the endpoint uses https.
    let isSecure: Bool
    /// The expiry of this host's certificate in seconds since 1970, or `nil` without a certificate.
    let certificateEnds: Int?

    func failure(_ error: any Error, _ stage: Stage) -> EtcdFailure {
        switch error {
        case let failure as EtcdFailure: failure
        case let error as NIOConnectionError: unconnected(error)
        case let error as IOError: system(error, stage)
        case is NIOSSLError, is BoringSSLError: handshake("\(error)") ?? ended(stage)
        case is HostMismatchError: .insecure(.otherHost)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .insecure(.otherHost)
        case let error as HTTPClientError where TransportErrors.noConnection.contains(error):
            .unreachable("connection timed out")
        case is CancellationError: late(stage)
        case let error as HTTPClientError where error == .cancelled: late(stage)
        default: ended(stage)
        }
    }

    private static let noConnection: [HTTPClientError] = [
        .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout,
    ]

    private func late(_ stage: Stage) -> EtcdFailure {
        stage == .connecting
            ? .unreachable("connection timed out") : .unanswered("timed out waiting for a response")
    }

    /// Returns the failure for a closed connection.
    ///
    /// A port with another protocol closes it without an error.
    private func ended(_ stage: Stage) -> EtcdFailure {
        switch stage {
        case .connecting where isSecure: .noHandshake
        case .connecting: .unreachable("connection closed immediately")
        case .sent where !isSecure: .noPlainAnswer
        case .sent, .answering: .unanswered("connection closed before the response was complete")
        }
    }

    private func unconnected(_ error: NIOConnectionError) -> EtcdFailure {
        guard let last = error.connectionErrors.last?.error else {
            return .unknownHost
        }
        guard let last = last as? IOError else { return .unreachable("connection timed out") }
        return system(last, .connecting)
    }

    private func system(_ error: IOError, _ stage: Stage) -> EtcdFailure {
        switch error.errnoCode {
        case ECONNREFUSED: .closedPort
        case ECONNRESET, EPIPE: ended(stage)
        case let code where stage == .connecting: .unreachable(systemMessage(code))
        case let code: .unanswered(systemMessage(code))
        }
    }

    /// Returns the failure for a TLS error about certificates, or `nil` for other errors.
    ///
    /// With TLS 1.3, a member rejects this host's certificate only after the handshake, but before it reads
    /// anything.
    func handshake(_ words: String) -> EtcdFailure? {
        if words.contains("CERTIFICATE_VERIFY_FAILED") { return .insecure(.unknownAuthority) }
        guard words.contains("ALERT"), words.contains("CERT") || words.contains("UNKNOWN_CA") else {
            return nil
        }
        // Older etcd versions report a missing certificate as bad.
        guard let certificateEnds, !words.contains("CERTIFICATE_REQUIRED") else {
            return .insecure(.noCertificate)
        }
        // Many etcd versions report an expired certificate as bad.
        let isOver = words.contains("EXPIRED") || certificateEnds < time(nil)
        return .insecure(isOver ? .expiredCertificate : .refusedCertificate)
    }
}
