// SPDX-License-Identifier: MIT

import NIOCore

/// An answer that is held back until it is known what it means.
///
/// Confined to the event loop.
final class BufferedResponse {
    enum Ending {
        case whole(trailers: [MessageField])
        case broken(HTTPMessageError)
    }

    /// Bytes of the body; what says why a token was refused is far shorter.
    private static let longest = 16_384
    /// How long the body may take: a server that says why has it ready.
    private static let longestWait = TimeAmount.seconds(2)

    let answer: UpstreamResponse
    private(set) var bytes = ByteBuffer()
    /// Nil as long as more may come.
    private(set) var ending: Ending?
    private(set) var isBeingJudged = false
    private var wait: Scheduled<Void>?

    init(_ answer: UpstreamResponse) {
        self.answer = answer
    }

    deinit { wait?.cancel() }

    /// Whether no more is held back: the rest waits at the upstream.
    var isFull: Bool { ending != nil || isBeingJudged || bytes.readableBytes >= BufferedResponse.longest }

    /// What is known of the body; empty if that is not all.
    var body: [UInt8] {
        if case .whole = ending { Array(bytes.readableBytesView) } else { [] }
    }

    /// Calls `isOver` if nobody has begun to judge it when the time for its body is over.
    func limitWait(on loop: any EventLoop, _ isOver: @escaping (BufferedResponse) -> Void) {
        wait = loop.assumeIsolated().scheduleTask(in: BufferedResponse.longestWait) { [weak self] in
            if let self { isOver(self) }
        }
    }

    func add(_ data: ByteBuffer) { bytes.writeImmutableBuffer(data) }

    func end(_ ending: Ending) { self.ending = ending }

    /// Takes no more; `false` if that has been said before.
    func stopBuffering() -> Bool {
        guard !isBeingJudged else { return false }
        isBeingJudged = true
        wait?.cancel()
        return true
    }
}
