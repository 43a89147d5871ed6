// SPDX-License-Identifier: MIT

import AgentServer
import Glibc

/// The connection to a service manager such as systemd, which provides a socket and is told the agent's
/// state.
///
/// Environment variables name both (sd_listen_fds(3), sd_notify(3)).
struct ServiceManagerConnection: Sendable {
    private let notifySocket: String?
    private let environment: [String: String]

    init(_ environment: [String: String]) {
        self.environment = environment
        notifySocket = environment["NOTIFY_SOCKET"]
    }

    /// Returns the socket passed to this process, or `nil` if there is none.
    ///
    /// - Throws: ``StartFailure`` unless it is exactly one, for this process, and listening.
    func socket() throws(StartFailure) -> ListeningSocket? {
        guard let count = environment["LISTEN_FDS"] else { return nil }
        guard environment["LISTEN_PID"] == "\(getpid())" else {
            throw StartFailure(
                .misconfigured,
                "LISTEN_PID is not this process",
                remedy: .run("unset LISTEN_FDS LISTEN_PID")
            )
        }
        guard count == "1" else {
            throw StartFailure(.misconfigured, "LISTEN_FDS is \(count), but only 1 socket is supported")
        }
        do throws(ListenFailure) {
            return try ListeningSocket.inherited(3)
        } catch {
            throw StartFailure(.misconfigured, "\(error)")
        }
    }

    /// Sends the agent's state, as lines of `NAME=VALUE`, to the service manager if there is one.
    func notify(_ lines: String...) {
        guard let notifySocket, notifySocket.hasPrefix("/") || notifySocket.hasPrefix("@") else { return }
        UnixDatagram.send(Array(lines.joined(separator: "\n").utf8), to: notifySocket)
    }
}
