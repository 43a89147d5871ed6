// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Reads an answer from the recording of its connection, with the handlers of a live one.
enum RecordedResponseParser {
    /// The answer that `recording` holds, on `eventLoop`; `nil`: it is not complete.
    static func read(
        _ recording: DecryptedRecording,
        readsBody: Bool,
        on eventLoop: any EventLoop
    ) async throws(UnusableRecordingError) -> ServerResponse? {
        do {
            return try await eventLoop.flatSubmit { replay(recording, readsBody, on: eventLoop) }.get()
        } catch NIOSSLError.uncleanShutdown, HTTPParserError.invalidEOFState, ChannelError.eof {
            return nil
        } catch {
            throw .notHTTP
        }
    }

    private static func replay(
        _ recording: DecryptedRecording,
        _ readsBody: Bool,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<ServerResponse> {
        // Handlers need a channel, and the one without a connection is for tests.
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            return eventLoop.makeFailedFuture(IOError(errnoCode: errno, reason: "socketpair"))
        }
        close(ends[1])
        let answer = eventLoop.makePromise(of: ServerResponse.self)
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPHandlers(
                        AnswerCollector(
                            readsBody: readsBody,
                            onAnswer: { answer.succeed($0) },
                            onEnd: { answer.fail($0) }
                        )
                    )
                }
            }
            .withConnectedSocket(ends[0])
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): feed(recording, to: channel)
                case .failure(let error): answer.fail(error)
                }
            }
        return answer.futureResult
    }

    private static func feed(_ recording: DecryptedRecording, to channel: any Channel) {
        // An answer has to have a request, of which only the method matters.
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        let pipeline = channel.pipeline.syncOperations
        pipeline.fireChannelRead(NIOAny(ByteBuffer(bytes: recording.plaintext)))
        if !recording.hasEnded { pipeline.fireErrorCaught(NIOSSLError.uncleanShutdown) }
        channel.close(promise: nil)
    }
}
