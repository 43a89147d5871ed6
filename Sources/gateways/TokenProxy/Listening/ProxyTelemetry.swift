// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import NIOCore
import NIOPosix

/// The access log and metrics of the listeners.
///
/// Unchecked: confined to the event loop. Log lines are written on a separate thread.
final class ProxyTelemetry: @unchecked Sendable {
    private struct Counts {
        /// The number of responses by the first digit of their status.
        var answers: [Int: Int64] = [:]
        var received: Int64 = 0
        var sent: Int64 = 0
        var repeated: Int64 = 0
        /// The number of requests that broke a rule, by the status of their response.
        var refused: [Int: Int64] = [:]
        /// The number of connections of other users, or of an unknown owner.
        var strangers: Int64 = 0
        var connections: Int64 = 0

        mutating func add(_ record: AccessRecord) {
            answers[record.status / 100, default: 0] += 1
            received += record.received
            sent += record.sent
            if record.isRepeated { repeated += 1 }
        }
    }

    /// The maximum number of lines waiting for a slow reader of the log.
    ///
    /// Further lines are counted and dropped.
    private static let maximumWaiting = 1024

    private let pool: NIOThreadPool
    private let loop: any EventLoop
    private var counts: [String: Counts] = [:]
    private var waiting = 0
    private var lost: Int64 = 0
    var logsAccess = false

    init(pool: NIOThreadPool, loop: any EventLoop) {
        self.pool = pool
        self.loop = loop
    }

    /// Records an answered request.
    func add(_ record: AccessRecord, of listener: String) {
        counts[listener, default: Counts()].add(record)
        if logsAccess { log("\(listener): \(record.line(at: .now()))") }
    }

    /// Counts a request that the proxy rejected with `status`, because it is malformed or not allowed.
    ///
    /// `line` is the log line, or `nil` if an exchange logs the request.
    func recordRefusal(_ status: Int, of listener: String, _ line: String?) {
        counts[listener, default: Counts()].refused[status, default: 0] += 1
        if logsAccess, let line { log("\(listener): \(line)") }
    }

    /// Records a connection that was closed before a byte of it was read.
    func recordStranger(of listener: String) {
        counts[listener, default: Counts()].strangers += 1
        if logsAccess { log("\(listener): closed a connection from another or unknown user") }
    }

    func recordConnections(_ change: Int64, of listener: String) {
        counts[listener, default: Counts()].connections += change
    }

    /// Writes a line to standard error without blocking the event loop.
    func log(_ line: String) {
        guard waiting < ProxyTelemetry.maximumWaiting else {
            lost += 1
            return
        }
        waiting += 1
        let text = lost == 0 ? line : "\(line) (\(lost) lines are missing before this one)"
        lost = 0
        pool.submit { [self] _ in
            let bytes = Array("tokenagent-proxy: \(text)\n".utf8)
            _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(2, $0.baseAddress, $0.count) }
            loop.execute { self.waiting -= 1 }
        }
    }

    /// Calls `action` when the lines so far are written, or after one second.
    func whenWritten(_ action: @escaping () -> Void) {
        let action = LoopBound(action)
        pool.submit { [loop] _ in loop.execute { action.value() } }
        loop.assumeIsolated().scheduleTask(in: .seconds(1)) { action.value() }
    }

    /// The metrics in the text format of Prometheus.
    var metrics: String {
        var text = ""
        func family(
            _ name: String,
            _ type: String,
            _ help: String,
            _ rows: (String, Counts) -> [(String, Int64)]
        ) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (listener, counts) in counts.sorted(by: { $0.key < $1.key }) {
                for (labels, value) in rows(listener, counts) {
                    text += "\(name){listener=\"\(listener)\"\(labels)} \(value)\n"
                }
            }
        }
        family(
            "tokenagent_proxy_requests_total",
            "counter",
            "Requests served, by class of status."
        ) {
            $1.answers.sorted { $0.key < $1.key }.map { (",class=\"\($0.key)xx\"", $0.value) }
        }
        family(
            "tokenagent_proxy_refused_total",
            "counter",
            "Requests rejected by a rule, by status."
        ) {
            $1.refused.sorted { $0.key < $1.key }.map { (",status=\"\($0.key)\"", $0.value) }
        }
        family("tokenagent_proxy_repeated_total", "counter", "Requests sent again with another token.") {
            [("", $1.repeated)]
        }
        family("tokenagent_proxy_received_bytes_total", "counter", "Bytes in request bodies.") {
            [("", $1.received)]
        }
        family("tokenagent_proxy_sent_bytes_total", "counter", "Bytes in response bodies.") {
            [("", $1.sent)]
        }
        family("tokenagent_proxy_strangers_total", "counter", "Connections from other or unknown users.") {
            [("", $1.strangers)]
        }
        family("tokenagent_proxy_connections", "gauge", "Open client connections.") {
            [("", $1.connections)]
        }
        return text
    }
}
