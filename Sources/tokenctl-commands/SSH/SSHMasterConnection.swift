// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A connection of ssh that this process holds: the shell goes through it, and what keeps the directory of the socket
/// on the other host runs at its other end for as long as this process lives.
final class SSHMasterConnection {
    /// Most bytes that login shells of the other host may print before the directory is there.
    private static let mostOutput = 65_536
    /// Milliseconds for the other host to remove what it has made, at the end.
    private static let patience: Int64 = 5_000
    /// Milliseconds for ssh to end after that: connections that it forwards may go on without end.
    private static let terminationGracePeriod: Int64 = 500

    private let arguments: SSHArguments
    private let overruling: SSHOverruling
    private let control: String
    private let keeper: ChildProcess
    /// The keeper's input, at whose end it removes what it has made.
    private var input: Pipe
    /// What the keeper prints.
    private let output: Pipe
    /// Where the socket is on the other host.
    let socket: String

    /// Connects, asking the person whatever ssh asks, and has the directory made.
    ///
    /// - Parameters:
    ///   - arguments: host and options.
    ///   - control: where ssh makes its control socket.
    ///   - signals: passed on to ssh meanwhile.
    /// - Throws: ``SSHFailure`` if ssh did not connect, which it has said; ``AgentError`` if there is no directory.
    init(
        _ arguments: SSHArguments,
        control: String,
        _ signals: borrowing RelayedSignals
    ) throws {
        var input = try Pipe(isReadByChild: true)
        var output = try Pipe()
        let overruling = SSHOverruling(arguments)
        let own =
            ["-M", "-S", control, "-T", "-o", "ControlPersist=no", "-o", "RemoteCommand=none"]
            + overruling.ofKeeper
        let options = arguments.options.filter { !"tTn".contains($0.letter) }.flatMap(\.words)
        let keeper = try ChildProcess(
            "ssh",
            own + options + ["--", arguments.host, RemoteShell.keeper],
            input: .descriptor(input.reading),
            output: .descriptor(output.writing)
        )
        output.closeWriting()
        let announced = SSHMasterConnection.socket(announcedAt: output, by: keeper, signals)
        guard let announced else {
            input.closeWriting()
            output.closeReading()
            let status = keeper.wait()
            guard status == 0 else { throw SSHFailure(status: status) }
            throw AgentError(.internal, "\(arguments.host) made no directory for the socket")
        }
        self.arguments = arguments
        self.overruling = overruling
        self.control = control
        self.keeper = keeper
        self.input = input
        self.output = output
        socket = announced
    }

    /// Has the other host remove what it has made, and ends the connection.
    func end() {
        input.closeWriting()
        let ended = hardening_open_process(keeper.pid)
        defer { if ended >= 0 { close(ended) } }
        // A program there that holds a connection keeps ssh from ending, as connections of the person's do.
        if !isOver(ended, within: SSHMasterConnection.patience, orOnce: RemoteShell.hasEnded),
            !isOver(ended, within: SSHMasterConnection.terminationGracePeriod)
        {
            kill(keeper.pid, SIGTERM)
        }
        _ = keeper.wait()
    }

    /// Waits for the end of ssh, which is open as `ended`, or until `isEnough` says so of what the keeper has printed.
    ///
    /// - Returns: whether ssh has ended.
    private func isOver(
        _ ended: Int32,
        within milliseconds: Int64,
        orOnce isEnough: (_ output: [UInt8]) -> Bool = { _ in false }
    ) -> Bool {
        let deadline = hardening_boot_clock() + milliseconds * 1_000_000
        var text: [UInt8] = []
        var isOpen = true
        while isOpen || ended >= 0 {
            let left = (deadline - hardening_boot_clock() + 999_999) / 1_000_000
            guard left > 0 else { return false }
            var wanted = [ended, isOpen ? output.reading : -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = unsafe poll(&wanted, nfds_t(wanted.count), Int32(left))
            if wanted[0].revents != 0 { return true }
            guard wanted[1].revents != 0 else { continue }
            let more = output.available()
            isOpen = !more.isEmpty
            text = Array((text + more).suffix(SSHMasterConnection.mostOutput))
            if isEnough(text) { return false }
        }
        return false
    }

    /// Reads what comes until the keeper has said where the socket shall be; nil if it ends before that.
    private static func socket(
        announcedAt output: borrowing Pipe,
        by keeper: ChildProcess,
        _ signals: borrowing RelayedSignals
    ) -> String? {
        var text: [UInt8] = []
        while text.count < mostOutput {
            var wanted = [output.reading, signals.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = unsafe poll(&wanted, nfds_t(wanted.count), -1)
            signals.pass(to: keeper)
            guard wanted[0].revents != 0 else { continue }
            let more = output.available()
            guard !more.isEmpty else { return nil }
            text += more
            if let path = RemoteShell.socket(in: text) { return path }
        }
        return nil
    }

    /// Has the other host listen at its socket, and bring what comes there to `path`.
    func forward(to path: String) throws(AgentError) {
        guard try obeys(["forward", "-R", "\(socket):\(path)"]) else {
            throw AgentError(
                .denied,
                "\(arguments.host) forwards no sockets",
                remedy:
                    "its sshd has to allow it: AllowStreamLocalForwarding and DisableForwarding in sshd_config(5)"
            )
        }
    }

    /// Whether the connection is there still.
    var isHeld: Bool { (try? obeys(["check"], error: .null)) == true }

    /// Whether the ssh that holds the connection carries an order out.
    private func obeys(
        _ order: [String],
        error: ChildProcess.Stream = .inherited
    ) throws(AgentError) -> Bool {
        // Without a configuration: only the control socket counts.
        let words = ["-F", "/dev/null", "-S", control, "-O"] + order + ["--", arguments.host]
        return try ChildProcess("ssh", words, output: .null, error: error).wait() == 0
    }

    /// Starts the command on the other host, or a shell.
    func startShell() throws(AgentError) -> ChildProcess {
        // Without the control socket ssh would connect by itself, and the person be asked again.
        let own =
            [
                "-S", control, "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o",
                "RemoteCommand=none",
                "-o", "ClearAllForwardings=yes",
            ] + overruling.ofShell
        let options = arguments.options.filter { $0.letter != "J" }
        let isDecided = options.contains { "tT".contains($0.letter) }
        let terminal = arguments.command.isEmpty && !isDecided && isatty(STDIN_FILENO) == 1 ? ["-t"] : []
        let command = RemoteShell.command(arguments.command, socket: socket)
        return try ChildProcess(
            "ssh",
            own + terminal + options.flatMap(\.words) + ["--", arguments.host, command],
            input: .inherited
        )
    }
}

/// ssh ended before there was a connection; it has said why.
struct SSHFailure: Error {
    /// Its exit status: 255, or that of what the other host ran instead.
    var status: Int32
}
