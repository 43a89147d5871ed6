// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc
import Text

/// A run of listeners until a signal arrives, or while a program runs.
struct ListenerRun {
    let tables: ConfiguredListenersReader
    let logsAccess: Bool
    /// The address at which metrics are served.
    let metrics: String?

    /// Serves until a signal arrives, and reads the tables again at SIGHUP.
    ///
    /// - Parameter told: Receives the addresses when they are ready, and new addresses after the tables
    ///   were read again.
    /// - Returns: The exit status.
    /// - Throws: ``AgentError`` if nothing can be served, and the errors of `told`.
    func serve(_ told: ([ListeningPlaceMessage]) throws(AgentError) -> Void) throws(AgentError) -> Int32 {
        let signals = try CaughtSignals(CaughtSignals.ofService)
        var secrets = EndpointSecrets(besideSocket: try tables.endpoint.socketPath)
        let message = try filled(&secrets)
        let proxy = try ProxyProcess()
        var places = try proxy.serve(message)
        try secrets.write(places)
        try told(places)
        while true {
            let came = signals.wait(for: proxy.socket)
            guard !came.isEmpty else {
                throw AgentError(.internal, "tokenagent-proxy exited with status \(proxy.end())")
            }
            guard came.allSatisfy({ $0 == SIGHUP }) else { return proxy.end() }
            do throws(AgentError) {
                let present = try proxy.serve(try filled(&secrets))
                try secrets.write(present)
                let fresh = present.filter { !places.contains($0) }
                places = present
                if !fresh.isEmpty { try told(fresh) }
            } catch {
                // After an error, the current listeners continue.
                FailureReport.tell(error)
            }
        }
    }

    /// Serves while `command` runs; the environment variable `variable` contains the first URL.
    ///
    /// - Returns: The exit status of the command, or 127 if it cannot be started.
    /// - Throws: ``AgentError`` if nothing can be served.
    func serve(around command: [String], _ variable: String) throws(AgentError) -> Int32 {
        var secrets = EndpointSecrets(besideSocket: try tables.endpoint.socketPath)
        let message = try filled(&secrets)
        let proxy = try ProxyProcess()
        let places = try proxy.serve(message)
        try secrets.write(places)
        unsafe setenv(variable, places.first?.url ?? "", 1)
        return try proxy.serve(around: command)
    }

    /// Runs `command`, relays signals to it, and waits for its exit.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - partner: A descriptor that is readable when a program that serves the command has exited, or -1.
    ///   - partnerEnded: The function that is called once after that exit.
    /// - Returns: The exit status of the command, or 127 if it cannot be started.
    /// - Throws: ``AgentError`` if signals cannot be relayed.
    static func supervise(
        _ command: [String],
        beside partner: Int32 = -1,
        partnerEnded: () -> Void = {}
    ) throws(AgentError) -> Int32 {
        let signals = try RelayedSignals()
        guard let child = ChildProcess.running(command) else { return 127 }
        let ended = hardening_open_process(child.pid)
        defer { if ended >= 0 { close(ended) } }
        // poll(2) ignores negative descriptors.
        var wanted = [ended, signals.descriptor, partner].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        while ended >= 0 {
            _ = unsafe poll(&wanted, nfds_t(wanted.count), -1)
            signals.pass(to: child)
            if wanted[0].revents != 0 { break }
            guard wanted[2].revents != 0 else { continue }
            wanted[2].fd = -1
            partnerEnded()
        }
        return child.wait()
    }

    private func filled(_ secrets: inout EndpointSecrets) throws(AgentError) -> ListenersSetupMessage {
        var message = try tables.read()
        try secrets.fill(&message)
        message.logsAccess = logsAccess
        message.metrics = metrics
        return message
    }
}
