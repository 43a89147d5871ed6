// SPDX-License-Identifier: MIT

import CommandExecution
import NIOCore
import NIOPosix
import Synchronization
import Text
import TokenCore

/// The agent's client for the runner process, which runs commands and inspects processes for it.
///
/// Requests and replies are frames on one socket; a number in each matches a reply to its request.
///
/// - Entry points: ``run(_:environment:timeLimit:)``, ``examine(_:digesting:)``, ``adopt(_:keepsFormer:)``,
///   and ``SecretCommandRunner``, which runs a program that prints a secret only once at a time.
/// - May not: send the name of a program; it sends the index of a command in a table that both sides have.
/// - Runs on: the event loop that it is given. Safe to call from any thread.
package final class CommandRunnerClient: CommandRunning, ProcessExamining {
    /// The socket after it was registered with its event loop.
    private struct OpenChannel: Sendable {
        let channel: any Channel
        let replies: NIOLoopBound<ReplyChannelHandler>
    }

    /// The state of the socket, which is opened as a channel only at the first request.
    ///
    /// Many agents never run a command, and no start of the agent waits for the channel.
    private enum SocketState {
        case socket(Int32)
        case link(EventLoopFuture<OpenChannel>)
    }

    private let loop: any EventLoop
    private let end: Mutex<SocketState>
    private let lastNumber = Atomic<UInt64>(0)
    private let commands: Mutex<CommandIndices>
    /// The previous commands, which the runner knows too, while a session of the previous table still exists.
    private let former = Mutex<CommandIndices?>(nil)

    /// The commands of one configuration, each with its index in the table.
    private struct CommandIndices {
        var digest: [UInt8]
        var indices: [CommandTable.Entry: UInt32]

        init(_ table: CommandTable) {
            digest = table.digest
            let numbered = table.entries.enumerated().map { ($0.element, UInt32(clamping: $0.offset)) }
            indices = Dictionary(numbered) { first, _ in first }
        }

        /// Returns the index and operation for `words`, or `nil` if the configuration has no such command.
        func find(_ words: [String]) -> (index: UInt32, order: RollbackCounterOperation?)? {
            if let index = indices[CommandTable.Entry(words: words)] { return (index, nil) }
            for order in RollbackCounterOperation.allCases where words.last == order.word {
                let entry = CommandTable.Entry(words: Array(words.dropLast()), takesOrder: true)
                if let index = indices[entry] { return (index, order) }
            }
            return nil
        }
    }

    /// Creates a client that owns `socket`, the agent's end of a socket pair; the runner must know `table`.
    ///
    /// The socket is registered with `loop` at the first request.
    package init(socket: Int32, table: CommandTable, on loop: any EventLoop) {
        commands = Mutex(CommandIndices(table))
        end = Mutex(.socket(socket))
        self.loop = loop
    }

    private var link: EventLoopFuture<OpenChannel> {
        end.withLock { end in
            switch end {
            case .link(let link): return link
            case .socket(let socket):
                let link = open(socket)
                end = .link(link)
                return link
            }
        }
    }

    private func open(_ socket: Int32) -> EventLoopFuture<OpenChannel> {
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReplyChannelHandler())
                }
            }
            .withConnectedSocket(socket)
            .flatMapThrowing { channel in
                let handler = try channel.pipeline.syncOperations.handler(type: ReplyChannelHandler.self)
                return OpenChannel(
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
        let name = command.first ?? ""
        let tables = [commands.withLock { $0 }, former.withLock { $0 }].compactMap(\.self)
        let known = tables.lazy.compactMap { table in table.find(command).map { ($0, table.digest) } }.first
        guard let ((index, order), digest) = known else {
            throw CommandFailure(message: "\(name) is not a command of the configuration")
        }
        var variables: [CommandEnvironmentVariable: String] = [:]
        for (variable, value) in environment {
            guard let known = CommandEnvironmentVariable(name: variable),
                value.utf8.count <= CommandEnvironmentVariable.maximumValueLength
            else {
                throw CommandFailure(message: "cannot pass \(variable) to \(name)")
            }
            variables[known] = value
        }
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let request = CommandRequest(
            number: number,
            table: digest,
            index: index,
            order: order,
            variables: variables,
            timeLimit: timeLimit
        )
        return try await exchange(number, request.frame)
    }

    /// Makes the runner read the configuration again and checks that its commands are those of `table`.
    ///
    /// - Parameters:
    ///   - table: The commands of the new configuration.
    ///   - keepsFormer: Whether the commands of the previous configuration may still be run.
    /// - Throws: ``CommandFailure`` if the runner cannot read the configuration or reads other commands.
    ///   The previous commands then stay in use.
    package func adopt(_ table: CommandTable, keepsFormer: Bool = false) async throws(CommandFailure) {
        if !keepsFormer { former.withLock { $0 = nil } }
        guard commands.withLock({ $0.digest != table.digest }) else { return }
        guard try await loadedTable() == table.digest else {
            throw CommandFailure(
                message: "the configuration changed while it was read (run: tokenctl reload)"
            )
        }
        let old = commands.withLock { commands in
            defer { commands = CommandIndices(table) }
            return commands
        }
        if keepsFormer { former.withLock { $0 = old } }
    }

    /// Makes the runner read the configuration again.
    ///
    /// - Returns: The digest of its commands.
    private func loadedTable() async throws(CommandFailure) -> [UInt8] {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        do throws(CommandFailure) {
            return try await exchange(number, RunnerFrameKind.loading(number)).standardOutput
        } catch  where error == .runnerEnded {
            throw error
        } catch {
            // A new agent passes its commands to the runner itself.
            throw CommandFailure(message: "\(error.message) \(Remedy.restart.parenthesized)")
        }
    }

    package func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerIdentity {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let query = ProcessQuery(number: number, process: process, digested: digested)
        let result = try await exchange(number, query.frame)
        guard let facts = ProcessDescription(encoded: result.standardOutput) else { throw .runnerEnded }
        return PeerIdentity(facts)
    }

    private func exchange(_ number: UInt64, _ frame: [UInt8]) async throws(CommandFailure) -> CommandResult {
        let reply = link.flatMap { link in
            let reply = link.channel.eventLoop.makePromise(of: Result<CommandResult, CommandFailure>.self)
            link.replies.value.expect(number, reply)
            link.channel.writeAndFlush(ByteBuffer(bytes: frame), promise: nil)
            return reply.futureResult
        }
        do {
            return try await reply.get().get()
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .runnerEnded
        }
    }

    /// Ends the runner process.
    package func close() {
        link.whenSuccess { $0.channel.close(promise: nil) }
    }
}

extension CommandFailure {
    fileprivate static let runnerEnded = CommandFailure(
        message: "tokenagent-runner is not running \(Remedy.restart.parenthesized)"
    )
}

extension CommandReply {
    fileprivate var result: Result<CommandResult, CommandFailure> {
        switch outcome {
        case .ended(let status, let output):
            let complaint = StandardErrorLine(standardError: errors, standardOutput: output)
            return .success(CommandResult(status: status, standardOutput: output, complaint: complaint))
        case .failed(let failure):
            let complaint = StandardErrorLine(standardError: errors)
            return .failure(CommandFailure(message: failure.message, complaint: complaint))
        }
    }
}

extension PeerIdentity {
    fileprivate init(_ facts: ProcessDescription) {
        self.init(
            programs: facts.programs.map { Program(executable: $0.executable, digest: $0.digest) },
            unit: facts.unit,
            startedAt: Instant(nanoseconds: facts.startedAt),
            image: facts.image,
            isProxy: facts.isProxy,
            name: facts.name,
            executable: facts.executable,
            callers: facts.callers
        )
    }
}

/// Matches replies with their requests by number.
private final class ReplyChannelHandler: ChannelInboundHandler {
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
            waiting.removeValue(forKey: reply.number)?.succeed(reply.result)
        }
        // A command may have printed a secret: copying the rest releases, and so wipes, the bytes already
        // read.
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
    /// Overwrites the readable bytes in place, because the channel keeps its buffer for the next read.
    fileprivate func wipe() {
        unsafe withVeryUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(mutating: $0).wipe() }
    }
}
