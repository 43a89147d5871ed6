// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import Synchronization

/// The delivery of one response, complete or broken as its disturbance says.
struct AnswerDelivery: Sendable {
    static let tlsName = "tls"

    let channel: any Channel
    /// Whether to close the connection after the response, as the client or HTTP/1.0 requires.
    let isClosing: Bool
    /// Whether the response is to a HEAD request.
    let omitsBody: Bool

    /// Runs `step` on the connection's event loop after `delay`.
    func after(_ delay: Duration, _ step: @escaping @Sendable () -> Void) {
        guard delay > .zero else { return channel.eventLoop.execute(step) }
        channel.eventLoop.scheduleTask(in: TimeAmount(delay), step)
    }

    func send(_ reply: IssuerResponse, _ ending: Disturbance.Ending) {
        let bytes = reply.serialized(closing: isClosing || ending != .complete, omittingBody: omitsBody)
        switch ending {
        case .complete:
            write(bytes[...]) { if isClosing { channel.close(promise: nil) } }
        case .hang:
            break
        case .finish(let count):
            write(bytes.prefix(count)) { channel.close(promise: nil) }
        case .reset(let count):
            write(bytes.prefix(count)) { reset() }
        case .drip(let pace):
            drip(bytes[...], pace: max(pace, 1))
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, then next: @escaping @Sendable () -> Void) {
        guard !bytes.isEmpty else { return next() }
        channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { _ in next() }
    }

    private func drip(_ bytes: ArraySlice<UInt8>, pace: Int) {
        guard channel.isActive, !bytes.isEmpty else { return channel.close(promise: nil) }
        write(bytes.prefix(1)) {
            after(.seconds(1) / pace) { drip(bytes.dropFirst(), pace: pace) }
        }
    }

    /// Closes the TCP connection with RST instead of FIN, bypassing the TLS layer, which would send
    /// close_notify.
    private func reset() {
        let lingering = (channel as? any SocketOptionProvider)?
            .setSoLinger(linger(l_onoff: 1, l_linger: 0))
        let ready = lingering ?? channel.eventLoop.makeSucceededVoidFuture()
        ready.whenComplete { _ in
            let tls = try? channel.pipeline.syncOperations.context(name: AnswerDelivery.tlsName)
            guard let tls else { return channel.close(promise: nil) }
            tls.close(promise: nil)
        }
    }
}

/// A response that is held back from the arrival of its request until ``release()``.
final class HeldResponse: Sendable {
    private struct State {
        var isReleased = false
        var send: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Sends the response with `send` once it is released.
    func ready(_ send: @escaping @Sendable () -> Void) {
        let isReleased = state.withLock { state in
            if !state.isReleased { state.send = send }
            return state.isReleased
        }
        if isReleased { send() }
    }

    /// Sends the response as soon as it is ready.
    func release() {
        let send = state.withLock { state in
            state.isReleased = true
            return state.send.take()
        }
        send?()
    }
}
