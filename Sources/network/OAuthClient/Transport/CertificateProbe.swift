// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import ServerCertificates
import ServerSettings
import Synchronization
import Text

/// A second connection to an untrusted server, made to learn why its certificates are not trusted.
///
/// The handshake ends when the certificates arrive, and no request is sent.
struct CertificateProbe: Sendable {
    let url: EndpointURL
    /// The address to connect to, or `nil` to resolve the host of ``url``.
    let address: String?
    let limit: Duration
    /// The trusted authorities in addition to the system's.
    let anchors: [NIOSSLCertificate]

    /// Fetches the certificates and returns their error, or `nil` if none arrive or they do not show one.
    func fault(on eventLoop: any EventLoop) async -> CertificateChainError? {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        guard url.isTLS, let context = try? NIOSSLContext(configuration: configuration) else { return nil }
        let name = IPAddress(url.host) == nil ? url.host : nil
        let shown = eventLoop.makePromise(of: [NIOSSLCertificate].self)
        let connection = ClientBootstrap(group: eventLoop)
            .connectTimeout(.nanoseconds(limit.nanoseconds))
            .channelInitializer { channel in
                channel.closeFuture.whenComplete { _ in shown.succeed([]) }
                return channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: context,
                        serverHostname: name,
                        customVerificationCallback: { certificates, verdict in
                            shown.succeed(certificates)
                            verdict.succeed(.failed)
                        }
                    )
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: address ?? url.host, port: url.port)
        connection.whenFailure { _ in shown.succeed([]) }
        let alarm = eventLoop.scheduleTask(in: .nanoseconds(limit.nanoseconds)) { shown.succeed([]) }
        let chain = (try? await shown.futureResult.get()) ?? []
        alarm.cancel()
        connection.whenSuccess { $0.close(promise: nil) }
        return CertificateChainError(chain, anchors: anchors, at: Int64(time(nil)))
    }
}
