// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A connection of the other host and the agent's end of it: what comes at one goes out at the other, unread.
final class RelayedConnection {
    private var requests: RelayedBytes
    private var answers: RelayedBytes
    private let host: Int32
    private let agent: Int32

    /// Takes over two connected sockets, and closes them in the end.
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

    /// What poll(2) has to wait for.
    var wanted: [pollfd] {
        [
            RelayedConnection.entry(host, reading: requests.isReading, writing: answers.isWriting),
            RelayedConnection.entry(agent, reading: answers.isReading, writing: requests.isWriting),
        ]
    }

    /// Passes on what has come.
    /// - Returns: whether there may be more: the agent has not ended the connection, and both ends are of use.
    func move() -> Bool { requests.move() && answers.move() && !answers.isOver }

    /// An end from which nothing is wanted is left out: poll(2) would report forever that it is gone.
    private static func entry(_ descriptor: Int32, reading: Bool, writing: Bool) -> pollfd {
        let events = (reading ? POLLIN : 0) | (writing ? POLLOUT : 0)
        return pollfd(fd: events == 0 ? -1 : descriptor, events: Int16(events), revents: 0)
    }
}

/// One direction of a connection.
private struct RelayedBytes {
    /// Most bytes held: what an answer with a token has and more.
    private static let size = 16_384
    /// Pieces passed on before others have their turn.
    private static let mostPieces = 16

    private let source: Int32
    private let sink: Int32
    private var room = [UInt8](repeating: 0, count: RelayedBytes.size)
    /// Which bytes of the room are still to be sent.
    private var held = 0..<0
    private var hasEnded = false
    /// Whether the end of the source has been passed on.
    private(set) var isOver = false

    init(from source: Int32, to sink: Int32) {
        self.source = source
        self.sink = sink
    }

    var isReading: Bool { held.isEmpty && !hasEnded }
    var isWriting: Bool { !held.isEmpty }

    /// Passes on what there is without waiting; `false` if an end is of no use any more.
    mutating func move() -> Bool {
        for _ in 0..<RelayedBytes.mostPieces where !isOver {
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
        // It was a token as like as not.
        if self.held.isEmpty { room.wipe() }
        return count
    }
}
