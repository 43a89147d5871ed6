// SPDX-License-Identifier: MIT

import CommandExecution
import NIOCore
import NIOPosix
import Synchronization
import TokenCore

/// The agent's end of the socket to the process that runs commands for it.
package final class CommandRunnerClient: CommandRunning, ProcessExamining {
    private let channel: any Channel
    private let replies: NIOLoopBound<ReplyHandler>
    private let lastNumber = Atomic<UInt64>(0)

    private init(channel: any Channel, replies: NIOLoopBound<ReplyHandler>) {
        self.channel = channel
        self.replies = replies
    }

    /// Takes over `socket`, the agent's end of a socket pair.
    package static func connect(socket: Int32, on loop: any EventLoop) -> EventLoopFuture<CommandRunnerClient>
    {
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReplyHandler())
                }
            }
            .withConnectedSocket(socket)
            .flatMapThrowing { channel in
                let handler = try channel.pipeline.syncOperations.handler(type: ReplyHandler.self)
                return CommandRunnerClient(
                    channel: channel,
                    replies: NIOLoopBound(handler, eventLoop: channel.eventLoop)
                )
            }
    }

    package func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let request = CommandRequest(
            number: number,
            command: command,
            environment: environment,
            timeLimit: timeLimit
        )
        let frame = request.frame
        guard frame.count <= CommandLimits.frame else {
            throw CommandFailure(message: "the command line of \(command.first ?? "") is too long")
        }
        return try await exchange(number, frame)
    }

    package func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerFacts {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let query = ProcessQuery(number: number, process: process, digested: digested)
        let result = try await exchange(number, query.frame)
        guard let facts = PeerFacts(encoded: result.standardOutput) else { throw .runnerEnded }
        return facts
    }

    private func exchange(_ number: UInt64, _ frame: [UInt8]) async throws(CommandFailure) -> CommandResult {
        let reply = channel.eventLoop.makePromise(of: Result<CommandResult, CommandFailure>.self)
        channel.eventLoop.execute { [channel, replies] in
            replies.value.expect(number, reply)
            channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
        }
        do {
            return try await reply.futureResult.get().get()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .runnerEnded
        }
    }

    /// Ends the runner process.
    package func close() {
        channel.close(promise: nil)
    }
}

extension CommandFailure {
    fileprivate static let runnerEnded = CommandFailure(
        message: "tokenagent-runner, the process that runs commands, is not running; restart the agent"
    )
}

/// Matches replies with the requests that wait for them.
private final class ReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias Reply = EventLoopPromise<Result<CommandResult, CommandFailure>>

    private var received = ByteBuffer()
    private var waiting: [UInt64: Reply] = [:]
    private var hasEnded = false

    func expect(_ number: UInt64, _ reply: Reply) {
        guard !hasEnded else { return reply.succeed(.failure(.runnerEnded)) }
        waiting[number] = reply
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let incoming = unwrapInboundIn(data)
        received.writeBytes(incoming.readableBytesView)
        incoming.wipe()
        while let payload = nextPayload() {
            guard let reply = CommandReply(payload: payload) else { return context.close(promise: nil) }
            waiting.removeValue(forKey: reply.number)?.succeed(reply.outcome)
        }
        // A command may have printed a secret: what was taken is released, and so wiped, at once.
        received = ByteBuffer(bytes: received.readableBytesView)
    }

    func channelInactive(context: ChannelHandlerContext) {
        hasEnded = true
        let abandoned = waiting.values
        waiting = [:]
        for reply in abandoned { reply.succeed(.failure(.runnerEnded)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func nextPayload() -> [UInt8]? {
        guard let count = received.getInteger(at: received.readerIndex, as: UInt32.self),
            received.readableBytes >= 4 + Int(count)
        else { return nil }
        received.moveReaderIndex(forwardBy: 4)
        return received.readBytes(length: Int(count))
    }
}

extension ByteBuffer {
    /// Overwrites the bytes where they are: the channel keeps its buffer for the next read.
    fileprivate func wipe() {
        unsafe withVeryUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
        }
    }
}
