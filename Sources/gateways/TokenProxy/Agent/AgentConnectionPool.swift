// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc
import NIOCore
import NIOPosix
import Text

/// A pool of connections to the agent, each used for one request at a time.
///
/// Unchecked: confined to the event loop.
final class AgentConnectionPool: @unchecked Sendable {
    typealias Answered = (Result<AgentResponse, AgentError>) -> Void

    /// The maximum number of idle connections kept open.
    private static let maximumIdle = 8

    let socket: String
    let loop: any EventLoop
    private var idle: [PooledAgentConnection] = []

    init(socket: String, loop: any EventLoop) {
        self.socket = socket
        self.loop = loop
    }

    /// The times after which a pending request is followed by a probe, and after which the probe fails.
    ///
    /// A token may take as long as its authorization server needs, so a late response alone proves nothing. A
    /// stopped agent does not respond to a probe either.
    private static let probeTime = TimeAmount.seconds(4)
    private static let responseTime = TimeAmount.seconds(3)

    /// Sends a request, on an idle connection if one is open.
    ///
    /// Fails with `temporarilyUnavailable` if the agent does not respond to anything.
    func ask(_ request: AgentRequest, _ answered: @escaping Answered) {
        let pending = PendingResponse(answered)
        watch(pending)
        while let conversation = idle.popLast() {
            guard conversation.isOpen else { continue }
            let first = PendingResponse { [self] result in
                // The agent may have closed the connection before it read the request, so it is safe to send
                // the request again.
                guard case .failure(let error) = result, error.code == .noAgent, !pending.isOver else {
                    return pending.finish(result)
                }
                sendOnNewConnection(request, pending)
            }
            pending.conversation = conversation
            return conversation.ask(request, first)
        }
        sendOnNewConnection(request, pending)
    }

    /// Probes the agent repeatedly until `pending` is over.
    private func watch(_ pending: PendingResponse) {
        loop.assumeIsolated().scheduleTask(in: AgentConnectionPool.probeTime) { [self] in
            guard !pending.isOver else { return }
            let probe = PendingResponse { [self] result in
                if case .failure(let error) = result, error.code == .temporarilyUnavailable {
                    return pending.abandon(error)
                }
                // Any response shows that the agent is running.
                watch(pending)
            }
            loop.assumeIsolated().scheduleTask(in: AgentConnectionPool.responseTime) {
                probe.abandon(.silentAgent)
            }
            sendOnNewConnection(AgentRequest(.get, "sessions", "-"), probe)
        }
    }

    private func sendOnNewConnection(_ request: AgentRequest, _ pending: PendingResponse) {
        open { [self] result in
            switch result {
            case .failure(let error): pending.finish(.failure(error))
            case .success(let channel):
                let conversation = PooledAgentConnection(link: self)
                do {
                    guard !pending.isOver else { throw ChannelError.alreadyClosed }
                    try channel.pipeline.syncOperations.addHandler(conversation)
                } catch {
                    channel.close(promise: nil)
                    return pending.finish(.failure(AgentError(ConnectionFailure.closed)))
                }
                pending.conversation = conversation
                conversation.ask(request, pending)
            }
        }
    }

    /// Connects to the agent and checks that it runs as this user.
    func open(_ opened: @escaping (Result<any Channel, AgentError>) -> Void) {
        let reply = LoopBound(opened)
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .connect(unixDomainSocketPath: socket)
            .whenComplete { [socket] result in
                switch result {
                case .failure(let error):
                    let number = (error as? IOError)?.errnoCode ?? ETIMEDOUT
                    reply.value(
                        .failure(AgentError(ConnectionFailure.unreachable(socket: socket, errno: number)))
                    )
                case .success(let channel):
                    guard let owner = AgentConnectionPool.owner(of: channel), owner == geteuid() else {
                        channel.close(promise: nil)
                        let failure = ConnectionFailure.foreignServer(
                            socket: socket,
                            uid: AgentConnectionPool.owner(of: channel) ?? .max
                        )
                        return reply.value(.failure(AgentError(failure)))
                    }
                    reply.value(.success(channel))
                }
            }
    }

    fileprivate func keep(_ conversation: PooledAgentConnection) {
        if idle.count < AgentConnectionPool.maximumIdle {
            idle.append(conversation)
        } else {
            conversation.close()
        }
    }

    fileprivate func forget(_ conversation: PooledAgentConnection) {
        idle.removeAll { $0 === conversation }
    }

    private static func owner(of channel: any Channel) -> uid_t? {
        let found = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) {
            descriptor in
            var process: pid_t = 0
            var user: uid_t = 0
            return unsafe hardening_peer_credentials(descriptor, &process, &user) == 0 ? user : nil
        }
        return found ?? nil
    }
}

/// A waiter for the agent's response, called exactly once.
///
/// Unchecked: confined to the event loop.
private final class PendingResponse: @unchecked Sendable {
    private var answered: AgentConnectionPool.Answered?
    /// The connection on which the response is expected.
    var conversation: PooledAgentConnection?

    init(_ answered: @escaping AgentConnectionPool.Answered) {
        self.answered = answered
    }

    var isOver: Bool { answered == nil }

    /// Stops waiting and closes the connection.
    ///
    /// A late response on this connection would otherwise be taken for the response to the next request.
    func abandon(_ error: AgentError) {
        guard !isOver else { return }
        let conversation = conversation
        finish(.failure(error))
        conversation?.close()
    }

    func finish(_ result: Result<AgentResponse, AgentError>) {
        let answered = answered
        self.answered = nil
        conversation = nil
        answered?(result)
    }
}

extension AgentError {
    fileprivate static let silentAgent = AgentError(
        .temporarilyUnavailable,
        "the agent does not respond (is it stopped?)",
        remedy: .run("tokenctl doctor"),
        retryAfter: .seconds(5)
    )
}

/// A value that stays on the event loop on which its closure was created.
///
/// Unchecked: the creator uses the value on that event loop only.
struct LoopBound<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A connection to the agent.
///
/// Unchecked: confined to the event loop.
private final class PooledAgentConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    /// The maximum size of a response body, in bytes.
    private static let maximumBodyLength = 1 << 20

    private unowned let link: AgentConnectionPool
    private var channel: (any Channel)?
    private var decoder = ResponseDecoder()
    private var pending: PendingResponse?
    private var head: ResponseHead?
    private var body: [UInt8] = []

    init(link: AgentConnectionPool) {
        self.link = link
    }

    var isOpen: Bool { channel?.isActive == true }

    func handlerAdded(context: ChannelHandlerContext) { channel = context.channel }

    func ask(_ request: AgentRequest, _ pending: PendingResponse) {
        guard let channel, channel.isActive else {
            return pending.finish(.failure(AgentError(ConnectionFailure.closed)))
        }
        self.pending = pending
        var bytes = ByteBuffer(string: request.head)
        if let body = request.body { bytes.writeBytes(body) }
        channel.writeAndFlush(bytes, promise: nil)
    }

    func close() {
        channel?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data).readableBytesView)
        do throws(ConnectionFailure) {
            while let part = try decoder.next() { try take(part) }
        } catch {
            context.close(promise: nil)
            finish(.failure(AgentError(error)))
        }
    }

    private func take(_ part: ResponseDecoder.Part) throws(ConnectionFailure) {
        switch part {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes):
            guard body.count + bytes.count <= PooledAgentConnection.maximumBodyLength else {
                throw .malformed("body too long")
            }
            body += bytes
        case .end:
            guard let head else { throw .malformed("no head") }
            let response = AgentResponse(status: head.status, retryAfter: head.retryAfter, body: body)
            body.wipe()
            body = []
            if head.closes { close() } else { link.keep(self) }
            finish((200..<300).contains(head.status) ? .success(response) : .failure(AgentError(response)))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        channel = nil
        link.forget(self)
        finish(.failure(AgentError(ConnectionFailure.closed)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func finish(_ result: Result<AgentResponse, AgentError>) {
        let pending = pending
        self.pending = nil
        pending?.finish(result)
    }
}
