// SPDX-License-Identifier: MIT

import AgentProtocol
import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import ServerCertificates

/// Says what an error of the HTTP library means for a request.
struct TransportErrors: Sendable {
    /// How far the request has come.
    enum Stage {
        /// It is not out.
        case connecting
        /// It may be out, and no answer has begun.
        case sent
        /// The head of the answer is here.
        case answering
    }

    /// Whether the endpoint is https.
    let isSecure: Bool
    /// When the certificate of this host ends, in seconds since 1970; `nil`: it has none to show.
    let certificateEnds: Int?

    func failure(_ error: any Error, _ stage: Stage) -> EtcdFailure {
        switch error {
        case let failure as EtcdFailure: failure
        case let error as NIOConnectionError: unconnected(error)
        case let error as IOError: system(error, stage)
        case is NIOSSLError, is BoringSSLError: handshake("\(error)") ?? ended(stage)
        case is ForeignServer: .insecure(.otherHost)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .insecure(.otherHost)
        case let error as HTTPClientError where TransportErrors.noConnection.contains(error):
            .unreachable("no connection in time")
        case is CancellationError: late(stage)
        case let error as HTTPClientError where error == .cancelled: late(stage)
        default: ended(stage)
        }
    }

    private static let noConnection: [HTTPClientError] = [
        .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout,
    ]

    private func late(_ stage: Stage) -> EtcdFailure {
        stage == .connecting ? .unreachable("no connection in time") : .unanswered("no answer in time")
    }

    /// A port that speaks another protocol ends the connection without a word.
    private func ended(_ stage: Stage) -> EtcdFailure {
        switch stage {
        case .connecting where isSecure: .noHandshake
        case .connecting: .unreachable("the connection ended at once")
        case .sent where !isSecure: .noPlainAnswer
        case .sent, .answering: .unanswered("the connection ended before the answer was complete")
        }
    }

    private func unconnected(_ error: NIOConnectionError) -> EtcdFailure {
        guard let last = error.connectionErrors.last?.error else {
            return .unknownHost
        }
        guard let last = last as? IOError else { return .unreachable("no connection in time") }
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

    /// `nil`: it is not about certificates.
    ///
    /// With TLS 1.3 a member says what it thinks of ours only after the handshake, but before it reads anything.
    func handshake(_ words: String) -> EtcdFailure? {
        if words.contains("CERTIFICATE_VERIFY_FAILED") { return .insecure(.unknownAuthority) }
        guard words.contains("ALERT"), words.contains("CERT") || words.contains("UNKNOWN_CA") else {
            return nil
        }
        // Older members call a missing one a bad one.
        guard let certificateEnds, !words.contains("CERTIFICATE_REQUIRED") else {
            return .insecure(.noCertificate)
        }
        // Many members call it a bad one.
        let isOver = words.contains("EXPIRED") || certificateEnds < time(nil)
        return .insecure(isOver ? .expiredCertificate : .refusedCertificate)
    }
}
