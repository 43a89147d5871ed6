// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The process that listens, which is started by this process and ends with it.
struct ProxyProcess: ~Copyable {
    private static let maximumLineLength = 1 << 20

    private let child: ChildProcess
    /// The socket to the process, which becomes readable when the process has exited.
    let socket: Int32

    init() throws(AgentError) {
        guard let program = InstalledProgram.path("tokenagent-proxy") else {
            throw AgentError(
                .internal,
                "tokenagent-proxy not found next to tokenctl or in ../libexec/tokenagent",
                remedy: .retry("after installing tokenagent-proxy")
            )
        }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw AgentError(.internal, "cannot create a socket: \(systemMessage(errno))")
        }
        defer { close(ends[1]) }
        let child: ChildProcess
        do throws(AgentError) {
            child = try ChildProcess(program, [], input: .descriptor(ends[1]), output: .null)
        } catch {
            close(ends[0])
            throw error
        }
        self.child = child
        socket = ends[0]
    }

    deinit { close(socket) }

    /// Sends the tables and waits until they are served.
    ///
    /// - Returns: The address of each listener.
    /// - Throws: ``AgentError`` with the reason why nothing has changed, or if the process has exited.
    borrowing func serve(_ tables: ListenersSetupMessage) throws(AgentError) -> [ListeningPlaceMessage] {
        let socket = socket
        var line = tables.json.serialized + [0x0A]
        defer { line.wipe() }
        guard unsafe line.withUnsafeBytes({ unsafe writeAll($0, to: socket) }) == 0,
            let answer = readLine().flatMap({ ListeningResultMessage(parsing: $0) })
        else { throw AgentError(.internal, "tokenagent-proxy exited unexpectedly") }
        if let error = answer.error { throw AgentError(error) }
        return answer.listening ?? []
    }

    /// Serves while `command` runs; the command continues if this process exits first.
    ///
    /// - Returns: The exit status of the command, or 127 if it cannot be started.
    borrowing func serve(around command: [String]) throws(AgentError) -> Int32 {
        let child = child
        var hasEnded = false
        let status = try ListenerRun.supervise(command, beside: socket) {
            hasEnded = true
            let complaint =
                "tokenagent-proxy exited with status \(child.wait()): requests are no longer served"
            StandardError.write("tokenctl: \(complaint)\n")
        }
        if !hasEnded { _ = end() }
        return status
    }

    /// Lets the process finish the requests in flight, and waits for its exit.
    ///
    /// - Returns: The exit status of the process.
    borrowing func end() -> Int32 {
        shutdown(socket, Int32(SHUT_WR))
        return child.wait()
    }

    private borrowing func readLine() -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < ProxyProcess.maximumLineLength {
            let count = unsafe read(socket, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            guard byte != 0x0A else { return line }
            line.append(byte)
        }
        return nil
    }
}
