// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import ServerSettings
import TokenCore

@testable import OAuthClient

extension HTTPTransport {
    func outcome(of request: OutgoingRequest) async -> Result<ServerResponse, TransportFailure> {
        do throws(TransportFailure) {
            return .success(try await send(request))
        } catch {
            return .failure(error)
        }
    }
}

/// One request to a ``TinyServer``, over the real transport.
enum Wire {
    static let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    static let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

    static func post(
        _ server: TinyServer,
        scheme: String = "http",
        trust: ServerTrust = ServerTrust(),
        publicAddressOnly: Bool = false,
        totalLimit: Duration = HTTPLimits.total,
        connectLimit: Duration = HTTPLimits.connect
    ) async throws -> Result<ServerResponse, TransportFailure> {
        let transport = HTTPTransport(
            eventLoop: eventLoop,
            totalLimit: totalLimit,
            connectLimit: connectLimit
        )
        let request = OutgoingRequest(
            url: try EndpointURL("\(scheme)://127.0.0.1:\(server.port)/token"),
            form: FormBody([("refresh_token", "canary")]),
            trust: trust,
            publicAddressOnly: publicAddressOnly
        )
        let result = await transport.outcome(of: request)
        await transport.shutDown()
        await server.stop()
        return result
    }

    static func post(
        _ actions: [TinyServer.Action],
        totalLimit: Duration = HTTPLimits.total
    ) async throws -> Result<ServerResponse, TransportFailure> {
        try await post(try await TinyServer.start { _ in actions }, totalLimit: totalLimit)
    }
}
