// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import NIOCore
import ServerSettings

/// The HTTP/1.1 transport to the members of etcd, with persistent connections, no redirects and no
/// decompression.
///
/// No request is repeated, except with renewed certificates after a failed handshake. The proxy variables of
/// the environment are ignored.
final class GatewayTransport: Sendable {
    /// The maximum size of a response: 8 MiB.
    ///
    /// etcd accepts requests of 1.5 MiB, Base64 adds a third, and a session's keys hold at most three such
    /// values.
    static let longest = 8 << 20
    private let clients: GatewayClients

    init(
        to endpoints: [EtcdEndpoint],
        _ door: EtcdCredentials,
        on group: any EventLoopGroup
    ) throws(EtcdFailure) {
        clients = try GatewayClients(of: endpoints, door, on: group)
    }

    /// Sends a request, and returns when its complete response has arrived.
    func send(
        _ request: GatewayRequest,
        to endpoint: EtcdEndpoint,
        token: String?,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayResponse {
        try await calling(endpoint) { client, errors throws(EtcdFailure) in
            let body = TrackedRequestBody(request.body)
            let outgoing = GatewayTransport.outgoing(request, body, to: endpoint, token)
            return try await GatewayTransport.whole(outgoing, body, from: client, errors, until: end)
        }
    }

    private static func whole(
        _ outgoing: HTTPClientRequest,
        _ body: TrackedRequestBody,
        from client: HTTPClient,
        _ errors: TransportErrors,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayResponse {
        try await GatewayTransport.limited(errors, until: end) {
            let incoming = try await GatewayTransport.head(of: outgoing, body, from: client, errors)
            var received: [UInt8] = []
            for try await piece in incoming.body {
                guard received.count + piece.readableBytes <= GatewayTransport.longest else {
                    throw EtcdFailure.malformed("the response is larger than 8 MiB")
                }
                received += piece.readableBytesView
            }
            return GatewayResponse(
                status: Int(incoming.status.code),
                date: incoming.headers.first(name: "date"),
                body: received
            )
        }
    }

    /// Sends a request with a streamed response, and returns when the head of the response has arrived.
    func open(
        _ request: GatewayRequest,
        at endpoint: EtcdEndpoint,
        token: String?,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayStream {
        try await calling(endpoint) { client, errors throws(EtcdFailure) in
            let body = TrackedRequestBody(request.body)
            let outgoing = GatewayTransport.outgoing(request, body, to: endpoint, token)
            let incoming = try await GatewayTransport.limited(errors, until: end) {
                try await GatewayTransport.head(of: outgoing, body, from: client, errors)
            }
            return GatewayStream(status: Int(incoming.status.code), body: incoming.body, errors: errors)
        }
    }

    /// Closes all connections.
    func shutDown() async {
        await clients.shutDown()
    }

    /// Calls `call` with the HTTP client for a member, and again if the certificates were renewed after that
    /// client was created.
    private func calling<Result>(
        _ endpoint: EtcdEndpoint,
        _ call: (HTTPClient, TransportErrors) async throws(EtcdFailure) -> Result
    ) async throws(EtcdFailure) -> Result {
        let first = try clients.client(of: endpoint)
        do throws(EtcdFailure) {
            return try await call(first.client, first.errors)
        } catch {
            guard case .insecure = error, clients.renew(after: first.generation) else { throw error }
        }
        let second = try clients.client(of: endpoint)
        return try await call(second.client, second.errors)
    }

    private static func outgoing(
        _ request: GatewayRequest,
        _ body: TrackedRequestBody,
        to endpoint: EtcdEndpoint,
        _ token: String?
    ) -> HTTPClientRequest {
        var outgoing = HTTPClientRequest(url: endpoint.origin + request.path)
        outgoing.method = .POST
        outgoing.headers.add(name: "content-type", value: "application/json")
        // Without this field, etcd 3.4 treats a request without a token as one of the user in the gateway's
        // own certificate (`AuthInfoFromTLS`).
        outgoing.headers.add(name: "accept", value: "application/json")
        outgoing.headers.add(name: "accept-encoding", value: "identity")
        // With this field, a member that is cut off from the others rejects the request at once, also in a
        // watch.
        if !request.isAboutMember { outgoing.headers.add(name: "grpc-metadata-hasleader", value: "true") }
        if let token { outgoing.headers.add(name: "authorization", value: token) }
        outgoing.body = .stream(body, length: .known(Int64(body.count)))
        return outgoing
    }

    /// Sends the request, and returns when the head of its response has arrived.
    private static func head(
        of outgoing: HTTPClientRequest,
        _ body: TrackedRequestBody,
        from client: HTTPClient,
        _ errors: TransportErrors
    ) async throws(EtcdFailure) -> HTTPClientResponse {
        do {
            return try await client.execute(outgoing, deadline: .distantFuture)
        } catch {
            throw errors.failure(error, body.wasTaken ? .sent : .connecting)
        }
    }

    /// Runs `work`, and cancels it at the deadline or when the caller's task is cancelled.
    private static func limited<Result: Sendable>(
        _ errors: TransportErrors,
        until end: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws(EtcdFailure) -> Result {
        let task = Task { try await work() }
        let alarm = Task {
            try await Task.sleep(until: end, clock: .continuous)
            task.cancel()
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        alarm.cancel()
        switch result {
        case .success(let value): return value
        case .failure(let error): throw errors.failure(error, .answering)
        }
    }
}

/// A complete response of the gateway.
struct GatewayResponse: Equatable, Sendable {
    var status: Int
    var date: String?
    var body: [UInt8]
}

/// A streamed response of the gateway.
struct GatewayStream: Sendable {
    var status: Int
    fileprivate let body: HTTPClientResponse.Body
    fileprivate let errors: TransportErrors

    struct Iterator {
        fileprivate var pieces: HTTPClientResponse.Body.AsyncIterator
        fileprivate let errors: TransportErrors

        /// Waits for the next bytes, or returns `nil` at the end.
        mutating func next() async throws(EtcdFailure) -> [UInt8]? {
            do {
                return try await pieces.next().map { Array($0.readableBytesView) }
            } catch {
                throw errors.failure(error, .answering)
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: body.makeAsyncIterator(), errors: errors) }
}
