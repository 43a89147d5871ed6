// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import ExchangeGuard
import ForwardProxy
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerCertificates
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// HTTP/1.1 over a new connection for each request, without redirects or decompression.
///
/// - No connection is pooled: one that died during suspend would make every later refresh ambiguous.
/// - The HTTP library opens direct connections only: it does not use TLS with proxies, and a guard needs the
///   connection itself.
/// - Entry points: ``send(_:)``, ``networkReturned()``.
/// - May not: send a request twice, or before the certificate and address of the server are checked.
/// - Runs on: the event loop it is created with.
final class HTTPTransport: HTTPExchanging {
    private let eventLoop: any EventLoop
    private let totalLimit: Duration
    private let connectLimit: Duration
    private let hangingAfter: Duration
    private let clients = ClientCache<HTTPClient> { try? await $0.shutdown() }
    private let exchanges = ActiveAttempts()
    /// The connection to the starter of guards for requests with a refresh token, or `nil` if there is none.
    private let door: GuardStarterConnection?
    private let contexts = TLSContexts()
    private let proxies: ProxyRoutes
    /// Returns the authorities that this machine trusts now.
    private let system: @Sendable () -> SystemRoots

    init(
        eventLoop: any EventLoop,
        door: GuardStarterConnection? = nil,
        proxies: ProxyRoutes = ProxyRoutes(),
        totalLimit: Duration = HTTPLimits.total,
        connectLimit: Duration = HTTPLimits.connect,
        hangingAfter: Duration = HTTPLimits.hanging,
        system: @escaping @Sendable () -> SystemRoots = { SystemRoots() }
    ) {
        self.eventLoop = eventLoop
        self.door = door
        self.proxies = proxies
        self.totalLimit = totalLimit
        self.connectLimit = connectLimit
        self.hangingAfter = hangingAfter
        self.system = system
    }

    func shutDown() async {
        await clients.shutDown()
    }

    /// Restarts requests without a connection, because the network may have returned.
    ///
    /// A request that may have been sent is left alone, because its response may still arrive. So no request
    /// is sent twice.
    func networkReturned() {
        exchanges.giveUp(hangingSince: hangingAfter) { clients.retireAll() }
    }

    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        let attempt = GuardedAttempt.guarding(request)
        if let earlier = await attempt?.earlierAnswer(to: request, on: eventLoop) { return earlier }
        if attempt?.fence == .recorded { throw .ambiguous("no response to the earlier request was recorded") }
        let credentials = try LoadedServerTrust(request.trust, system: system())
        if request.url.isTLS { try credentials.check() }
        let tunnel = try await proxies.tunnel(to: request.url, request.trust.proxy, credentials)
        let isInternal = try await leadsInside(request, tunnel)
        let end = ContinuousClock.now + min(totalLimit, request.limit ?? totalLimit)
        var request = request
        var first: TransportFailure?
        for address in request.url.addresses {
            request.address = address
            do throws(TransportFailure) {
                return try await send(request, attempt, tunnel, credentials, isInternal, until: end)
            } catch {
                // With a proxy there is no second connection to read the certificates: the proxy gets only
                // necessary requests.
                if case .untrusted = error, tunnel == nil {
                    throw await explained(error, request, credentials)
                }
                // Only after `unreachable` is it certain that nothing was sent to this address.
                guard case .unreachable = error else { throw error }
                first = first ?? error
            }
        }
        throw first ?? .unreachable("no address to connect to")
    }

    /// Returns `failure` with the error that the server's certificates show.
    private func explained(
        _ failure: TransportFailure,
        _ request: OutgoingRequest,
        _ credentials: LoadedServerTrust
    ) async -> TransportFailure {
        let inquiry = CertificateProbe(
            url: request.url,
            address: request.address,
            limit: connectLimit,
            anchors: credentials.extraRoots
        )
        guard let fault = await inquiry.fault(on: eventLoop) else { return failure }
        let sentence = ServerText.cleaned(fault.sentence, limit: 300)
        return fault.concernsAuthority ? .untrusted(sentence) : .insecure(sentence)
    }

    private func send(
        _ request: OutgoingRequest,
        _ attempt: GuardedAttempt?,
        _ tunnel: ProxyTunnel?,
        _ credentials: LoadedServerTrust,
        _ isInternal: Bool,
        until end: ContinuousClock.Instant
    ) async throws(TransportFailure) -> ServerResponse {
        while true {
            let stage = ExchangeAttempt()
            var link: GuardLink?
            if let attempt { link = try self.link(of: attempt) }
            let result =
                if link != nil || tunnel != nil || request.hasParametersInURL {
                    await overOwnConnection(request, attempt, link, tunnel, credentials, stage, until: end)
                        .map { $0.at(isInternal: isInternal) }
                } else if !request.hasParameters || request.identity != nil {
                    await exchangeAlone(request, credentials, stage, until: end)
                } else {
                    await post(request, credentials, stage, until: end)
                }
            if !stage.isGivenUp || Task.isCancelled { return try result.get() }
        }
    }

    /// Asks for the guard of the next attempt.
    ///
    /// - Returns: The connection to the guard, or `nil` if there is no guard and `attempt` does not need one.
    /// - Throws: `unreachable` if `attempt` has deadlines but there is no guard.
    private func link(of attempt: GuardedAttempt) throws(TransportFailure) -> GuardLink? {
        if let link = door?.ask() { return link }
        // An attempt with deadlines must not be late, and only a guard can enforce that.
        guard attempt.fence == nil else {
            let restart = Remedy.restart
            throw .unreachable("cannot start the helper process tokenagent-exchange \(restart.parenthesized)")
        }
        return nil
    }

    /// Returns whether the server behind a proxy is in a private network.
    ///
    /// - Throws: `insecure` if the server is in a private network and must not be. Neither the server nor a
    ///   proxy gets a connection.
    private func leadsInside(
        _ request: OutgoingRequest,
        _ tunnel: ProxyTunnel?
    ) async throws(TransportFailure) -> Bool {
        guard request.publicAddressOnly || tunnel != nil && !request.hasParameters else { return false }
        let isInternal = await ProxyRoutes.leadsInside(request.url.host)
        guard !isInternal || !request.publicAddressOnly else { throw .internalAddress }
        return isInternal
    }

    /// Runs an exchange over a connection made without the HTTP library: one held by a guard, or one through
    /// a proxy.
    private func overOwnConnection(
        _ request: OutgoingRequest,
        _ attempt: GuardedAttempt?,
        _ link: GuardLink?,
        _ tunnel: ProxyTunnel?,
        _ credentials: LoadedServerTrust,
        _ stage: ExchangeAttempt,
        until end: ContinuousClock.Instant
    ) async -> Result<ServerResponse, TransportFailure> {
        // A recording of TLS within TLS cannot be decrypted later, and plain text must not be written to
        // disk.
        let isRecorded = link != nil && request.url.isTLS && tunnel?.proxy.isTLS != true
        let security: TLSContexts.Security?
        do throws(TransportFailure) {
            security = try contexts.security(
                to: request.url,
                credentials,
                request.identity,
                keepsKeys: isRecorded
            )
        } catch {
            return .failure(error)
        }
        let limits = GuardedExchangeLimits(attempt?.fence, left: end - ContinuousClock.now)
        let gate = gate(for: request, credentials)
        let lastWord = link == nil ? .zero : GuardedExchangeLimits.lastWord
        let result = await exchange(request, stage, until: end, lastWord) { [eventLoop, connectLimit] body in
            let order = GuardedConnection.Order(
                request: request,
                body: body,
                stage: stage,
                link: link,
                tunnel: tunnel,
                file: isRecorded ? attempt?.place?.begin() : nil,
                limits: limits,
                connectLimit: connectLimit,
                gate: gate,
                security: security
            )
            return try await GuardedConnection.run(order, on: eventLoop)
        }
        if case .success = result, link != nil { attempt?.place?.answered() }
        return result
    }

    private func post(
        _ request: OutgoingRequest,
        _ credentials: LoadedServerTrust,
        _ stage: ExchangeAttempt,
        until end: ContinuousClock.Instant
    ) async -> Result<ServerResponse, TransportFailure> {
        let key = ClientCache<HTTPClient>.Key(
            server: request.url.serverIdentity,
            credentials: credentials,
            publicAddressOnly: request.publicAddressOnly,
            address: request.address
        )
        let client = clients.borrow(key) {
            makeClient(credentials, gate: gate(for: request, credentials), overriding: request.resolution)
        }
        let result = await exchange(request, stage, until: end) { body in
            try await HTTPTransport.perform(request, body: body, over: client)
        }
        clients.release(client)
        return result
    }

    /// Runs an exchange with a client that is used only once.
    ///
    /// Such clients are for plain fetches, which are rare and must know the server's address, and for
    /// requests with a client certificate, whose key must not remain in a cached client.
    private func exchangeAlone(
        _ request: OutgoingRequest,
        _ credentials: LoadedServerTrust,
        _ stage: ExchangeAttempt,
        until end: ContinuousClock.Instant
    ) async -> Result<ServerResponse, TransportFailure> {
        // With a client certificate there is a body, and the body decides when the request may have been
        // sent.
        let gate = gate(for: request, credentials, stage: request.identity == nil ? stage : nil)
        let client = makeClient(credentials, request.identity, gate: gate, overriding: request.resolution)
        let result = await exchange(request, stage, until: end) { body in
            try await HTTPTransport.perform(request, body: body, over: client)
        }
        // Not awaited after a give-up: a client with a stalled connection shuts down only when that
        // connection ends.
        let ending = Task { try? await client.shutdown() }
        if !stage.isGivenUp { await ending.value }
        return result.map { reply in
            var reply = reply
            reply.isInternal = gate.sawInternalAddress
            return reply
        }
    }

    /// Runs `perform` until `end`, and wipes the body of `request` afterwards.
    ///
    /// `lastWord` is the time allowed beyond `end`, and starts when this process notices that `end` has
    /// passed.
    private func exchange(
        _ request: OutgoingRequest,
        _ stage: ExchangeAttempt,
        until end: ContinuousClock.Instant,
        _ lastWord: Duration = .zero,
        _ perform: @escaping @Sendable (OutgoingBody?) async throws -> ServerResponse
    ) async -> Result<ServerResponse, TransportFailure> {
        let body = OutgoingBody(of: request, stage: stage)
        let work = Task { try await perform(body) }
        exchanges.add(stage, work)
        let left = max(.zero, end - ContinuousClock.now)
        let alarm = eventLoop.scheduleTask(in: .nanoseconds(left.nanoseconds)) { [eventLoop] in
            guard lastWord > .zero else { return work.cancel() }
            // Cancelling finished work has no effect.
            eventLoop.scheduleTask(in: .nanoseconds(lastWord.nanoseconds)) { work.cancel() }
        }
        let result = await withTaskCancellationHandler {
            await work.result
        } onCancel: {
            work.cancel()
        }
        alarm.cancel()
        exchanges.remove(stage)
        if let body { try? await eventLoop.submit { body.wipe() }.get() }
        if case .failure(let error) = result, let failure = error as? ProxyFailure {
            return .failure(await proxies.explained(failure, at: request.url, request.trust.proxy))
        }
        return result.mapError { TransportFailure(explaining: $0, wasSent: body?.wasSent ?? false) }
    }

    private static func perform(
        _ request: OutgoingRequest,
        body: OutgoingBody?,
        over client: HTTPClient
    ) async throws -> ServerResponse {
        var outgoing = HTTPClientRequest(
            url: request.address == nil ? request.url.description : request.url.normalized
        )
        outgoing.headers = HTTPHeaders(of: request, body)
        if request.deletes { outgoing.method = .DELETE }
        if let body {
            if !request.deletes { outgoing.method = .POST }
            outgoing.body = .stream(body, length: .known(Int64(body.count)))
        }
        // The caller's alarm cancels this task. The client's own deadline covers only the head.
        let incoming = try await client.execute(outgoing, deadline: .distantFuture)
        return try await collect(incoming, readsBody: request.readsBody)
    }

    private static func collect(
        _ incoming: HTTPClientResponse,
        readsBody: Bool
    ) async throws -> ServerResponse {
        var answer = try IncomingResponse(incoming.status, incoming.headers, readsBody: readsBody)
        // The library closes the connection when the rest of the response is released.
        guard readsBody else { return answer.reply }
        for try await part in incoming.body { try answer.take(part) }
        return answer.reply
    }

    private func gate(
        for request: OutgoingRequest,
        _ credentials: LoadedServerTrust,
        stage: ExchangeAttempt? = nil
    ) -> ConnectionVerifier {
        ConnectionVerifier(
            to: request.url,
            pins: credentials.pins,
            publicAddressOnly: request.publicAddressOnly,
            stage: stage
        )
    }

    private func makeClient(
        _ credentials: LoadedServerTrust,
        _ identity: HandshakeIdentity? = nil,
        gate: ConnectionVerifier,
        overriding resolution: [String: String]
    ) -> HTTPClient {
        var handshake = credentials.configuration
        identity?.apply(to: &handshake)
        var pool = HTTPClient.Configuration.ConnectionPool(
            idleTimeout: .zero,
            concurrentHTTP1ConnectionsPerHostSoftLimit: 256
        )
        pool.retryConnectionEstablishment = false
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: handshake,
            redirectConfiguration: .disallow,
            timeout: .init(connect: .nanoseconds(connectLimit.nanoseconds)),
            connectionPool: pool,
            decompression: .disabled,
            http1_1ConnectionDebugInitializer: { gate.admit($0) }
        )
        configuration.httpVersion = .http1Only
        configuration.dnsOverride = resolution
        configuration.maximumUsesPerConnection = 1
        return HTTPClient(eventLoopGroupProvider: .shared(eventLoop), configuration: configuration)
    }
}

extension TransportFailure {
    /// Converts an error of the HTTP library.
    ///
    /// An unknown error is ambiguous if the body may have been sent.
    fileprivate init(explaining error: any Error, wasSent: Bool) {
        if let failure = error as? TransportFailure {
            self = failure
        } else if let error = error as? HTTPParserError, error == .headerOverflow {
            self = .largeHead
        } else if error is HTTPParserError {
            // Something responded, but not in HTTP/1.1.
            self = wasSent ? .ambiguous(TransportFailure.notHTTP) : .unreachable(TransportFailure.notHTTP)
        } else if wasSent {
            self = .ambiguous(TransportFailure.describeLoss(error))
        } else {
            self.init(unsent: error)
        }
    }

    /// Returns the reason there is no connection, such as "Connection refused".
    static func reason(notConnected error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError: error.reason
        case let error as IOError: SystemErrorText.text(error.errnoCode)
        default: "connection timed out"
        }
    }

    private init(unsent error: any Error) {
        switch error {
        case let error as NIOSSLError: self.init(handshake: error)
        case is NIOSSLExtraError: self = .foreignServer
        case let error as NIOConnectionError: self = .unreachable(error.reason)
        case let error as IOError: self = .unreachable(SystemErrorText.text(error.errnoCode))
        case ChannelError.connectTimeout: self = .unreachable("connection timed out")
        case ChannelError.eof: self = .unreachable("the server closed the connection")
        case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
            self = .unreachable("connection timed out")
        case _ where TransportFailure.isTimeout(error):
            self = .unreachable("timed out waiting for a response")
        default: self = .unreachable("the connection failed (\(error))")
        }
    }

    private static let notHTTP = "the server does not respond in HTTP/1.1 (HTTP/2 only?)"

    private static func describeLoss(_ error: any Error) -> String {
        isTimeout(error)
            ? "the request was sent, but no response arrived in time"
            : "the request was sent, but the connection broke before the response was complete"
    }

    /// Returns whether the alarm of ``HTTPTransport`` fired, or the caller cancelled.
    private static func isTimeout(_ error: any Error) -> Bool {
        error is CancellationError || (error as? HTTPClientError) == .cancelled
    }
}

extension OutgoingRequest {
    /// The address of the host, if it is known without a resolver.
    fileprivate var resolution: [String: String] { address.map { [url.host: $0] } ?? [:] }
}
