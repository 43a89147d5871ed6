// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The process between the agent and one server during one token request.
///
/// It has the connection, the agent has not. TLS is the agent's: what passes here is what the network sees, so this process
/// holds no secret and understands nothing. It does what the agent cannot do itself:
///
/// - Nothing of a request is sent after a moment that the agent has named, however long either of the two was stopped or
///   the machine slept in between: the kernel kills this process then.
/// - No part of the request arrives after a second moment: the connection is reset then, unless the other end has
///   acknowledged all of it.
/// - What the server had said by the end of the exchange is read, also if this process was stopped while it came.
/// - What the server says is written to a file, if it is recorded and the disk allows it, before the agent has it. So an
///   agent that is killed finds the answer when it starts again.
package struct ExchangeGuard {
    private enum Stage {
        /// TLS begins; nothing of the request is here.
        ///
        /// Next: `armed`.
        case greeting
        /// The alarm is set to the moment after which nothing is sent.
        ///
        /// Next: `sent`.
        case armed
        /// The request is out, and there is no alarm, but the other end may lack a part of it: what the server has said is
        /// read first, however late it is, and then the exchange ends.
        ///
        /// Next: `arrived`.
        case sent
        /// The other end has the whole request.
        case arrived
    }

    /// Our end of the socket pair to the agent; -1 once that end has closed.
    private var agent: Int32
    private var order: GuardHandoverMessage
    /// The other end has the request by then; in nanoseconds of the boot-time clock.
    private var arriveBefore = Int64.max
    private let server: Int32
    /// The file of the answer, held open because its lock shows that this process is at work; -1: none.
    private let file: Int32
    private var stage = Stage.greeting
    /// Whether the agent knows that the request begins to go out.
    private var hasToldSending = false
    private var isWhole = false
    private var isDone = false
    /// Bytes of the agent that are no whole frame yet.
    private var received: [UInt8] = []
    private var toServer: [UInt8] = []
    private var toAgent: [UInt8] = []
    private var recorded = 0

    /// Bytes of the longest request; what the agent sends is a few kilobytes.
    private static let maximumRequestLength = 4 << 20
    /// The descriptor at which a guard finds the agent.
    package static let agentDescriptor: Int32 = 3
    /// The name of a guard process.
    package static let name = "tokenagent-exchange"

    /// Takes the order of the agent at `socket`; `nil`: there is none.
    package init?(at socket: Int32) {
        var head = [UInt8](repeating: 0, count: GuardHandoverMessage(end: 0).frame.count)
        var descriptors: [Int32] = [-1, -1]
        var count = Int32(descriptors.count)
        let received = unsafe hardening_receive_descriptors(socket, &head, head.count, &descriptors, &count)
        var length = 0
        guard received == head.count, count > 0,
            GuardFrame(head: head.prefix(GuardFrame.headCount), count: &length) == .order,
            let order = GuardHandoverMessage(head.dropFirst(GuardFrame.headCount))
        else { return nil }
        agent = socket
        self.order = order
        server = descriptors[0]
        file = count > 1 ? descriptors[1] : -1
    }

    /// Serves to the end of the exchange.
    package mutating func serve() {
        guard hardening_end_at(order.end) == 0, resetOnClose(unacknowledgedAt: order.end),
            setNonBlocking(server), setNonBlocking(agent)
        else { return }
        while !isDone, step() {}
        // Whoever follows the agent must find the answer even if the machine stops now.
        if agent < 0, file >= 0, recorded > 0 { fsync(file) }
    }

    /// Waits for something and does it; `false`: the exchange has ended.
    private mutating func step() -> Bool {
        // While the agent does not take what it was sent, the server has to wait too.
        let ofServer =
            toAgent.isEmpty ? Int32(POLLIN) | (maySend && !toServer.isEmpty ? Int32(POLLOUT) : 0) : 0
        let ofAgent = Int32(POLLIN) | (toAgent.isEmpty ? 0 : Int32(POLLOUT))
        var events = [
            pollfd(fd: ofServer == 0 ? -1 : server, events: Int16(ofServer), revents: 0),
            pollfd(fd: agent, events: Int16(ofAgent), revents: 0),
        ]
        let ready = unsafe poll(&events, nfds_t(events.count), timeout)
        guard ready >= 0 || errno == EINTR else { return false }
        if let deadline, hardening_boot_clock() >= deadline {
            guard stage == .sent, deadline < order.end, hardening_unacknowledged(server) == 0 else {
                readAllOfServer()
                return false
            }
            stage = .arrived
        }
        // The agent first: a request that it sent before it died goes out, and an end after `done` is no death.
        if events[1].revents != 0 { readAgent() }
        // Nothing of a request goes out that is not here as a whole.
        if isDone || agent < 0 && !isWhole { return false }
        guard flushToServer() else { return false }
        flushToAgent()
        return events[0].revents & Int16(POLLIN | POLLHUP | POLLERR) == 0 || !toAgent.isEmpty || readServer()
    }
}

// MARK: The end

extension ExchangeGuard {
    /// The time at which the guard acts although no bytes have arrived, or `nil` if an alarm ends the exchange.
    private var deadline: Int64? {
        switch stage {
        case .greeting, .armed: nil
        case .sent: min(arriveBefore, order.end)
        case .arrived: order.end
        }
    }

    /// Milliseconds until then; -1: there is no such moment.
    private var timeout: Int32 {
        guard let deadline else { return -1 }
        let left = (deadline - hardening_boot_clock()) / 1_000_000
        return Int32(clamping: max(0, left) + 1)
    }

    /// Makes the kernel reset the connection when it is closed, and when data is still unacknowledged at `moment`.
    private func resetOnClose(unacknowledgedAt moment: Int64) -> Bool {
        let left = (moment - hardening_boot_clock()) / 1_000_000
        return hardening_reset_on_close(server, UInt32(clamping: max(1, left))) == 0
    }

    /// Takes what the server had said before the end: this process may have been stopped while it came.
    private mutating func readAllOfServer() {
        var before = -1
        while recorded > before {
            before = recorded
            guard readServer() else { return }
        }
    }
}

// MARK: The agent

extension ExchangeGuard {
    private mutating func readAgent() {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while agent >= 0, !isDone {
            let count = unsafe read(agent, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { return agentDied() }
            received += bytes[..<count]
            guard takeFrames() else { return agentDied() }
        }
    }

    /// Takes what is complete; `false`: our agent does not write this.
    private mutating func takeFrames() -> Bool {
        while received.count >= GuardFrame.headCount, !isDone {
            var count = 0
            guard let kind = GuardFrame(head: received.prefix(GuardFrame.headCount), count: &count) else {
                return false
            }
            guard received.count >= GuardFrame.headCount + count else { return true }
            let bytes = received[GuardFrame.headCount..<GuardFrame.headCount + count]
            guard take(kind, bytes) else { return false }
            received.removeFirst(GuardFrame.headCount + count)
        }
        return true
    }

    private mutating func take(_ kind: GuardFrame, _ bytes: ArraySlice<UInt8>) -> Bool {
        switch kind {
        case .outgoing:
            guard toServer.count + bytes.count <= ExchangeGuard.maximumRequestLength else { return false }
            toServer += bytes
        case .arming:
            guard stage == .greeting, let arming = GuardArming(bytes) else { return false }
            return arm(arming)
        case .whole: isWhole = true
        case .done: isDone = true
        case .order, .incoming, .sending: return false
        }
        return true
    }

    /// Sets the alarm before the first byte of the request is taken from the agent.
    private mutating func arm(_ arming: GuardArming) -> Bool {
        // Without its head the file is of no use, as if there were none.
        if file >= 0 { _ = write(arming.head, at: 0) }
        let moment = min(arming.sendBefore, order.end)
        arriveBefore = max(arming.arriveBefore, moment)
        guard hardening_end_at(moment) == 0 else { return false }
        stage = .armed
        // An alarm for a moment that has passed rings some microseconds later.
        return hardening_boot_clock() < moment
    }

    /// The agent has died: what it sent goes out, what the server says is kept.
    private mutating func agentDied() {
        close(agent)
        agent = -1
        toAgent = []
    }

    private mutating func flushToAgent() {
        while agent >= 0, !toAgent.isEmpty {
            let sent = unsafe send(agent, toAgent, toAgent.count, Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { return }
            // What it sent before may still be there to be read, and poll says so.
            guard sent > 0 else {
                toAgent = []
                return
            }
            toAgent.removeFirst(sent)
        }
    }
}

// MARK: The server

extension ExchangeGuard {
    /// Whether what there is for the server is not, or not yet, a part of a request.
    private var maySend: Bool { stage != .armed || isWhole }

    private mutating func flushToServer() -> Bool {
        guard maySend else { return true }
        if stage == .armed, !toServer.isEmpty, !hasToldSending {
            hasToldSending = true
            // Counted from now, also if this process was stopped after it was armed.
            guard resetOnClose(unacknowledgedAt: arriveBefore) else { return false }
            if agent >= 0 { toAgent += GuardFrame.sending.head(0) }
            flushToAgent()
        }
        // Nothing goes out that the agent could take for unsent.
        while !toServer.isEmpty, toAgent.isEmpty {
            let sent = unsafe send(server, toServer, toServer.count, Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { return true }
            // An answer may be there in spite of it; at the end of that connection reading says so.
            guard sent > 0 else {
                toServer = []
                break
            }
            toServer.removeFirst(sent)
        }
        if stage == .armed, isWhole, toServer.isEmpty {
            stage = .sent
            return hardening_end_at(.max) == 0
        }
        return true
    }

    /// Keeps what the server says, then hands it on; `false` at its end.
    private mutating func readServer() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = unsafe read(server, &bytes, bytes.count)
        if count < 0 { return errno == EINTR || errno == EAGAIN }
        guard count > 0, recorded + count <= ResponseRecordingLayout.maximumRecorded else { return false }
        let part = Array(bytes[..<count])
        if file >= 0, !write(part, at: ResponseRecordingLayout.headRoom + recorded), agent < 0 {
            return false
        }
        recorded += count
        guard agent >= 0 else { return true }
        toAgent += GuardFrame.incoming.head(count) + part
        flushToAgent()
        return true
    }

    private func write(_ bytes: [UInt8], at offset: Int) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(file, bytes.baseAddress?.advanced(by: done), bytes.count - done, offset + done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    private func setNonBlocking(_ descriptor: Int32) -> Bool {
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
    }
}
