// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A connection from the other host and its connection to the agent; bytes are relayed in both directions
/// unread.
final class RelayedConnection {
    private var requests: RelayedBytes
    private var answers: RelayedBytes
    private let host: Int32
    private let agent: Int32

    /// Takes ownership of two connected sockets and closes them at the end.
    init(host: Int32, agent: Int32) {
        self.host = host
        self.agent = agent
        requests = RelayedBytes(from: host, to: agent)
        answers = RelayedBytes(from: agent, to: host)
    }

    deinit {
        close(host)
        close(agent)
    }

    /// The descriptors and events for poll(2).
    var wanted: [pollfd] {
        [
            RelayedConnection.entry(host, reading: requests.isReading, writing: answers.isWriting),
            RelayedConnection.entry(agent, reading: answers.isReading, writing: requests.isWriting),
        ]
    }

    /// Relays the available bytes.
    ///
    /// - Returns: Whether to continue: the agent has not ended the connection, and both sockets work.
    func move() -> Bool { requests.move() && answers.move() && !answers.isOver }

    /// Returns an entry for poll(2), without the descriptor if no events are requested.
    ///
    /// With the descriptor, poll(2) would report a closed peer again and again.
    private static func entry(_ descriptor: Int32, reading: Bool, writing: Bool) -> pollfd {
        let events = (reading ? POLLIN : 0) | (writing ? POLLOUT : 0)
        return pollfd(fd: events == 0 ? -1 : descriptor, events: Int16(events), revents: 0)
    }
}

/// One direction of a connection.
private struct RelayedBytes {
    /// The size of the buffer in bytes: more than a response with a token.
    private static let size = 16_384
    /// The maximum number of reads and writes before other connections have their turn.
    private static let maximumPieces = 16

    private let source: Int32
    private let sink: Int32
    private var room = [UInt8](repeating: 0, count: RelayedBytes.size)
    /// The range of bytes in the buffer that are not sent yet.
    private var held = 0..<0
    private var hasEnded = false
    /// Whether the end of the source was relayed.
    private(set) var isOver = false

    init(from source: Int32, to sink: Int32) {
        self.source = source
        self.sink = sink
    }

    var isReading: Bool { held.isEmpty && !hasEnded }
    var isWriting: Bool { !held.isEmpty }

    /// Relays the available bytes without waiting.
    ///
    /// - Returns: `false` if a socket has failed.
    mutating func move() -> Bool {
        for _ in 0..<RelayedBytes.maximumPieces where !isOver {
            let count = held.isEmpty ? read() : send()
            guard count >= 0 else { return [EAGAIN, EINTR].contains(errno) }
            if hasEnded, held.isEmpty {
                shutdown(sink, Int32(SHUT_WR))
                isOver = true
            }
        }
        return true
    }

    private mutating func read() -> Int {
        let source = source
        let count = unsafe room.withUnsafeMutableBytes { room in
            unsafe recv(source, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
        }
        if count == 0 { hasEnded = true }
        if count > 0 { held = 0..<count }
        return count
    }

    private mutating func send() -> Int {
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        let (sink, held) = (sink, held)
        let count = unsafe room.withUnsafeBytes { room in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: room[held])
            return unsafe Glibc.send(sink, rest.baseAddress, rest.count, flags)
        }
        guard count > 0 else { return count }
        self.held = held.lowerBound + count..<held.upperBound
        // The buffer probably contained a token.
        if self.held.isEmpty { room.wipe() }
        return count
    }
}
