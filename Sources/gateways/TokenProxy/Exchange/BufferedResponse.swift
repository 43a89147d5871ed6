// SPDX-License-Identifier: MIT

import NIOCore

/// A response of the upstream that is held back until its meaning is known.
///
/// Confined to the event loop.
final class BufferedResponse {
    enum Ending {
        case whole(trailers: [MessageField])
        case broken(ForwardingError)
    }

    /// The maximum number of buffered body bytes.
    ///
    /// The reason of a rejected token is far shorter.
    private static let longest = 16_384
    /// The maximum time for the body.
    ///
    /// A server that gives a reason has it ready.
    private static let maximumWait = TimeAmount.seconds(2)

    let answer: UpstreamResponse
    private(set) var bytes = ByteBuffer()
    /// The end of the response, or `nil` while more may come.
    private(set) var ending: Ending?
    private(set) var isBeingJudged = false
    private var wait: Scheduled<Void>?

    init(_ answer: UpstreamResponse) {
        self.answer = answer
    }

    deinit { wait?.cancel() }

    /// Whether buffering has stopped.
    ///
    /// The rest of the response stays at the upstream.
    var isFull: Bool { ending != nil || isBeingJudged || bytes.readableBytes >= BufferedResponse.longest }

    /// The body, or empty if the whole body is not known.
    var body: [UInt8] {
        if case .whole = ending { Array(bytes.readableBytesView) } else { [] }
    }

    /// Calls `isOver` if the time for the body ends before ``stopBuffering()`` was called.
    func limitWait(on loop: any EventLoop, _ isOver: @escaping (BufferedResponse) -> Void) {
        wait = loop.assumeIsolated().scheduleTask(in: BufferedResponse.maximumWait) { [weak self] in
            if let self { isOver(self) }
        }
    }

    func add(_ data: ByteBuffer) { bytes.writeImmutableBuffer(data) }

    func end(_ ending: Ending) { self.ending = ending }

    /// Stops buffering.
    ///
    /// - Returns: `false` if buffering had been stopped before.
    func stopBuffering() -> Bool {
        guard !isBeingJudged else { return false }
        isBeingJudged = true
        wait?.cancel()
        return true
    }
}
