// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import ServerSettings
import Synchronization
import SystemCalls
import Text
import TokenCore

/// A listener on a loopback address for the one redirect of a login (RFC 8252 §7.3, §8.3).
///
/// The listener also shows the outcome of the login in the browser. Safe to call from any thread.
final class LoopbackListener: Sendable {
    /// The limits of each connection and of their number.
    struct Limits: Sendable {
        var connections = 16
        var perConnection: TimeAmount = .seconds(5)
        /// The time that the browser waits for the end of the login.
        var outcome: TimeAmount = .seconds(15)
        /// The time that the listener stays open after the login for a browser that does not ask for the
        /// outcome.
        var shutdownTimeout: TimeAmount = .seconds(5)
    }

    let port: Int
    private let servers: [any Channel]
    private let coordinator: CallbackCoordinator

    private init(port: Int, servers: [any Channel], coordinator: CallbackCoordinator) {
        self.port = port
        self.servers = servers
        self.coordinator = coordinator
    }

    /// Opens the listener on every address of `place`.
    ///
    /// - Parameters:
    ///   - place: The redirect URI to serve.
    ///   - eventLoop: The event loop of the listener and its connections.
    ///   - limits: The limits of connections.
    /// - Returns: The listener, which the caller must close.
    /// - Throws: `misconfigured` if one of the addresses cannot be listened on, for example because the port
    ///   is taken.
    static func open(
        _ place: LoopbackRedirect,
        on eventLoop: any EventLoop,
        limits: Limits = Limits()
    ) async throws(RefreshFailure) -> LoopbackListener {
        let coordinator = CallbackCoordinator(limits: limits, eventLoop: eventLoop)
        let bootstrap = ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        CallbackConnectionHandler(coordinator: coordinator)
                    )
                }
            }
        var servers: [any Channel] = []
        for address in place.addresses {
            do {
                let name = try SocketAddress(ipAddress: address, port: place.port)
                servers.append(try await bootstrap.bind(to: name).get())
            } catch {
                // If IPv6 is disabled, no other process can listen at its address either.
                if !servers.isEmpty, (error as? IOError)?.saysNoSuchAddress == true { continue }
                for server in servers { try? await server.close().get() }
                coordinator.close()
                throw .cannotListen(on: address, place.port, error)
            }
        }
        var opened = place
        opened.port = servers.first?.localAddress?.port ?? place.port
        coordinator.open(opened)
        return LoopbackListener(port: opened.port, servers: servers, coordinator: coordinator)
    }

    /// Starts accepting the response for `transaction`.
    ///
    /// All other requests are rejected. `report` is called once for each reason if a rejected request
    /// concerns the user.
    func expect(
        _ transaction: AuthorizationTransaction,
        reporting report: @escaping @Sendable (CallbackError) -> Void = { _ in }
    ) {
        coordinator.expect(transaction, report)
    }

    /// Waits for the response of the expected transaction.
    ///
    /// - Throws: `CancellationError`.
    func response() async throws -> AuthorizationTransaction.Response {
        try await coordinator.response()
    }

    func close() async {
        for server in servers { try? await server.close().get() }
        coordinator.close()
    }

    /// Waits until the port is free.
    func waitUntilClosed() async {
        for server in servers { try? await server.closeFuture.get() }
    }

    /// Keeps the listener open for a short time, until the browser with the response has been shown the
    /// outcome.
    ///
    /// The caller calls ``show(_:)`` when the login to `session` has ended.
    func stayForOutcome(of session: SessionName? = nil) {
        coordinator.session = session
        let limit = coordinator.limits.outcome + coordinator.limits.shutdownTimeout
        coordinator.eventLoop.scheduleTask(in: limit) { [weak self] in self?.closeNow() }
        coordinator.whenShown { self.closeNow() }
    }

    /// Shows the outcome in the browser, now or when the browser asks, and then closes the listener.
    func show(_ ending: LoginResultForBrowser) {
        coordinator.end(ending)
        coordinator.eventLoop.scheduleTask(in: coordinator.limits.shutdownTimeout) { [weak self] in
            self?.closeNow()
        }
    }

    private func closeNow() {
        for server in servers { server.close(promise: nil) }
        coordinator.close()
    }
}

/// The listeners that still have a page to show.
///
/// Another login closes them if it needs their ports.
final class LingeringListeners: Sendable {
    private let listeners: Mutex<[Weak]> = Mutex([])

    private struct Weak {
        weak var listener: LoopbackListener?
    }

    func add(_ listener: LoopbackListener) {
        listeners.withLock { listeners in
            listeners.removeAll { $0.listener == nil }
            listeners.append(Weak(listener: listener))
        }
    }

    /// Closes the listeners at `port`, or all if `port` is `nil`.
    func close(at port: Int? = nil) async {
        let found = listeners.withLock { $0.compactMap(\.listener) }
        for listener in found where port == nil || listener.port == port { await listener.close() }
    }
}

/// The reasons for rejected requests.
enum CallbackError: Hashable, Sendable {
    case noAnswer
    case otherLogin
    case refused(status: Int)

    private static let all =
        [noAnswer, otherLogin] + [400, 404, 405, 413, 415, 431].map { refused(status: $0) }

    /// The path of the page that shows the reason, without anything of the request.
    var path: String {
        switch self {
        case .noAnswer: "/rejected/empty"
        case .otherLogin: "/rejected/other"
        case .refused(let status): "/rejected/\(status)"
        }
    }

    /// Returns the reason whose page is at `target`, or `nil` if there is none.
    init?(target: some Collection<UInt8>) {
        guard let found = CallbackError.all.first(where: { target.elementsEqual($0.path.utf8) }) else {
            return nil
        }
        self = found
    }

    var text: String {
        switch self {
        case .noAnswer:
            "the browser's redirect has no response "
                + Remedy.set("response_mode = \"query\" in authorization_parameters").parenthesized
        case .otherLogin:
            "ignored the browser's response to another login "
                + Remedy.retry("with the URL of this login").parenthesized
        case .refused(431):
            "ignored a request of the browser with more than 64 KiB of headers "
                + Remedy.retry("after deleting the cookies of the redirect URI").parenthesized
        case .refused(405):
            "ignored a request to the redirect URI that is not a GET "
                + Remedy.set("response_mode = \"query\" in authorization_parameters").parenthesized
        case .refused(let status):
            "ignored a request to the redirect URI (status \(status)): not the redirect of a login"
        }
    }
}

/// The state shared by the connections of one listener: the open connections and the pending response.
///
/// Safe to call from any thread, except where a method says otherwise.
final class CallbackCoordinator: Sendable {
    private struct Contents {
        var place: LoopbackRedirect?
        var transaction: AuthorizationTransaction?
        var connections: [any Channel] = []
        var session: SessionName?
        var report: (@Sendable (CallbackError) -> Void)?
        var reported: Set<CallbackError> = []
        /// The number of connections that wait for the outcome.
        var viewers = 0
        var isShown = false
    }

    let limits: LoopbackListener.Limits
    let eventLoop: any EventLoop
    /// The path of the page that shows the outcome.
    ///
    /// Other users of this machine cannot guess the path.
    let outcomePath = "/outcome/\(RandomText.make())"
    private let contents = Mutex(Contents())
    private let promise: EventLoopPromise<AuthorizationTransaction.Response>
    private let ending: EventLoopPromise<LoginResultForBrowser>
    private let shown: EventLoopPromise<Void>

    init(limits: LoopbackListener.Limits, eventLoop: any EventLoop) {
        self.limits = limits
        self.eventLoop = eventLoop
        promise = eventLoop.makePromise()
        ending = eventLoop.makePromise()
        shown = eventLoop.makePromise()
    }

    /// The redirect URI that requests must be for, or `nil` until the port is known.
    var place: LoopbackRedirect? { contents.withLock { $0.place } }

    /// The session of the login, as far as it is known.
    var session: SessionName? {
        get { contents.withLock { $0.session } }
        set { contents.withLock { $0.session = newValue } }
    }

    func open(_ place: LoopbackRedirect) {
        contents.withLock { $0.place = place }
    }

    func expect(
        _ transaction: AuthorizationTransaction,
        _ report: @escaping @Sendable (CallbackError) -> Void = { _ in }
    ) {
        contents.withLock { contents in
            contents.transaction = transaction
            contents.report = report
        }
    }

    /// Reports `problem` to the user, the first time it occurs.
    func note(_ problem: CallbackError) {
        let report = contents.withLock { contents in
            contents.reported.insert(problem).inserted ? contents.report : nil
        }
        report?(problem)
    }

    /// Records that the login has ended.
    func end(_ ending: LoginResultForBrowser) {
        self.ending.succeed(ending)
    }

    /// Calls `body` when the login has ended, or with `nil` if the listener is closed before.
    ///
    /// Confined to the event loop.
    func whenEnded(_ body: @escaping (LoginResultForBrowser?) -> Void) {
        ending.futureResult.assumeIsolated().whenComplete { body(try? $0.get()) }
    }

    /// Records that a connection waits for the outcome.
    func viewerCame() {
        contents.withLock { $0.viewers += 1 }
    }

    /// Records that a connection no longer waits for the outcome, which it was shown unless the browser left.
    ///
    /// A browser that is sent here twice leaves the first page and waits for the second one.
    func viewerLeft(wasShown: Bool) {
        let isOver = contents.withLock { contents in
            contents.viewers -= 1
            if wasShown { contents.isShown = true }
            return contents.isShown && contents.viewers == 0
        }
        if isOver { shown.succeed() }
    }

    func whenShown(_ body: @escaping @Sendable () -> Void) {
        shown.futureResult.whenComplete { _ in body() }
    }

    func response() async throws -> AuthorizationTransaction.Response {
        try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }

    /// Returns the meaning of `query` for the pending login.
    func read(_ query: String) -> AuthorizationTransaction.ReceivedRedirect {
        contents.withLock { $0.transaction }?.read(query) ?? .foreign
    }

    func deliver(_ response: AuthorizationTransaction.Response) {
        promise.succeed(response)
    }

    /// Adds a connection.
    ///
    /// If there are too many, the oldest is closed, so that stalled ones never block the browser.
    func connected(_ channel: any Channel) {
        let oldest: (any Channel)? = contents.withLock { contents in
            contents.connections.append(channel)
            guard contents.connections.count > limits.connections else { return nil }
            return contents.connections.removeFirst()
        }
        oldest?.close(promise: nil)
    }

    func disconnected(_ channel: any Channel) {
        contents.withLock { contents in contents.connections.removeAll { $0 === channel } }
    }

    func close() {
        let open = contents.withLock { $0.connections }
        for channel in open { channel.close(promise: nil) }
        promise.fail(CancellationError())
        ending.fail(CancellationError())
        shown.fail(CancellationError())
    }
}

/// One connection, which serves one request and closes.
final class CallbackConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let coordinator: CallbackCoordinator
    private var received: [UInt8] = []
    private var isAnswered = false
    private var isViewer = false
    private var alarm: Scheduled<Void>?

    init(coordinator: CallbackCoordinator) {
        self.coordinator = coordinator
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        coordinator.connected(channel)
        alarm = context.eventLoop.scheduleTask(in: coordinator.limits.perConnection) {
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        leave(wasShown: false)
        coordinator.disconnected(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered, let place = coordinator.place else { return }
        received.append(contentsOf: unwrapInboundIn(data).readableBytesView)
        switch CallbackRequest(received, to: place, outcome: coordinator.outcomePath) {
        case .incomplete: break
        case .refused(let status): reject(.refused(status: status), on: context.channel)
        case .empty: reject(.noAnswer, on: context.channel)
        case .explanation(let error): answer(CallbackPage(error).response, on: context.channel)
        case .outcome: showOutcome(on: context.channel)
        case .callback(let query):
            switch coordinator.read(query) {
            case .foreign: reject(.otherLogin, on: context.channel)
            case .repetition: answer(CallbackPage.redirect(to: coordinator.outcomePath), on: context.channel)
            case .response(let response):
                // Deliver the response only after the page has been written.
                let page = CallbackPage.redirect(to: coordinator.outcomePath)
                answer(page, on: context.channel) { [coordinator] _ in coordinator.deliver(response) }
            }
        }
    }

    /// Rejects a request.
    ///
    /// If its address may hold a code, the browser is sent to another one.
    private func reject(_ error: CallbackError, on channel: any Channel) {
        if error != .refused(status: 404) { coordinator.note(error) }
        let mayHoldCode = error == .noAnswer || CallbackRequest.hasQuery(received)
        let page = mayHoldCode ? CallbackPage.redirect(to: error.path) : CallbackPage(error).response
        answer(page, on: channel)
    }

    /// Shows the outcome when the login has ended, or another page if the browser has waited too long.
    private func showOutcome(on channel: any Channel) {
        isAnswered = true
        isViewer = true
        coordinator.viewerCame()
        alarm?.cancel()
        alarm = channel.eventLoop.assumeIsolated().scheduleTask(in: coordinator.limits.outcome) { [self] in
            answerOutcome(.unfinished(of: coordinator.session), on: channel)
        }
        coordinator.whenEnded { [self] ending in
            guard let ending else { return channel.close(promise: nil) }
            alarm?.cancel()
            answerOutcome(CallbackPage(ending), on: channel)
        }
    }

    private func answerOutcome(_ page: CallbackPage, on channel: any Channel) {
        let viewer = NIOLoopBound(self, eventLoop: channel.eventLoop)
        answer(page.response, on: channel) { viewer.value.leave(wasShown: $0) }
    }

    private func leave(wasShown: Bool) {
        guard isViewer else { return }
        isViewer = false
        coordinator.viewerLeft(wasShown: wasShown)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Writes `page`, calls `whenWritten` with whether that succeeded, and closes the connection.
    private func answer(
        _ page: String,
        on channel: any Channel,
        whenWritten: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        isAnswered = true
        received = []
        channel.writeAndFlush(channel.allocator.buffer(string: page)).whenComplete { result in
            if case .success = result { whenWritten(true) } else { whenWritten(false) }
            channel.close(promise: nil)
        }
    }
}

extension IOError {
    /// Whether this machine does not have the address, or no address of its family.
    fileprivate var saysNoSuchAddress: Bool { [EADDRNOTAVAIL, EAFNOSUPPORT].contains(errnoCode) }
}

extension RefreshFailure {
    fileprivate static func cannotListen(
        on address: String,
        _ port: Int,
        _ error: any Error
    ) -> RefreshFailure {
        let number = (error as? IOError)?.errnoCode
        let reason = number.map(SystemErrorText.text) ?? "\(error)"
        let host = address.contains(":") ? "[\(address)]" : address
        return RefreshFailure(
            kind: .misconfigured,
            message: "cannot listen on \(host):\(port): \(reason)",
            remedy: .set("--paste")
        )
    }
}
