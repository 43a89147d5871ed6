// SPDX-License-Identifier: MIT

import DemoIssuer
import NIOCore
import NIOEmbedded
import NIOSSL

@testable import OAuthClient

/// A connection of the TLS library with itself that records the server's bytes and the client's keys.
final class RecordedConnection {
    private let client: EmbeddedChannel
    private let server: EmbeddedChannel
    private let keys = KeyLog()
    private var greeting: [UInt8] = []
    /// Every byte of the server.
    private(set) var stream: [UInt8] = []

    init(_ version: TLSVersion, _ ciphers: [NIOTLSCipher]? = nil, groups: [NIOTLSCurve]? = nil) throws {
        let authority = try CertificateAuthority()
        let identity = try authority.issue()
        var serving = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8)).map {
                .certificate($0)
            },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
            )
        )
        serving.minimumTLSVersion = version
        serving.maximumTLSVersion = version
        if let ciphers { serving.cipherSuiteValues = ciphers }
        if let groups { serving.curves = groups }
        var asking = TLSConfiguration.makeClientConfiguration()
        asking.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(authority.certificatePEM.utf8))
        )
        asking.keyLogCallback = { [keys] in keys.note($0) }
        let loop = EmbeddedEventLoop()
        let opening = try NIOSSLContext(configuration: asking)
        client = EmbeddedChannel(
            handler: try NIOSSLClientHandler(context: opening, serverHostname: "localhost"),
            loop: loop
        )
        let answering = try NIOSSLContext(configuration: serving)
        server = EmbeddedChannel(handler: NIOSSLServerHandler(context: answering), loop: loop)
        try server.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try client.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 2)).wait()
        try exchange()
        // A client that has a request to send does the same.
        try client.writeOutbound(ByteBuffer(string: "?"))
        try exchange()
    }

    /// The secret that decrypts the stream.
    var secret: TLSSecret? {
        keys.take(Array(greeting[11..<43])).flatMap { TLSSecret(line: $0) }
    }

    /// Sends `text` from the server.
    func say(_ text: String) throws {
        try server.writeOutbound(ByteBuffer(string: text))
        try exchange()
    }

    /// Closes the server's side of the connection.
    func end() throws {
        server.close(promise: nil)
        try exchange()
    }

    private func exchange() throws {
        while true {
            var isIdle = true
            while let bytes = try client.readOutbound(as: ByteBuffer.self) {
                greeting += bytes.readableBytesView.prefix(max(0, 43 - greeting.count))
                try server.writeInbound(bytes)
                isIdle = false
            }
            while let bytes = try server.readOutbound(as: ByteBuffer.self) {
                stream += bytes.readableBytesView
                try client.writeInbound(bytes)
                isIdle = false
            }
            if isIdle { return }
        }
    }
}
