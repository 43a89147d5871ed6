// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc
import Text

/// The master connection of ssh, through which the shell runs.
///
/// The keeper of the socket's directory on the other host runs in this connection until this process ends.
final class SSHMasterConnection {
    /// The maximum number of bytes that login shells may print before the directory exists.
    private static let maximumOutput = 65_536
    /// The time for the other host to remove its directory at the end, in milliseconds.
    private static let timeout: Int64 = 5_000
    /// The time for ssh to exit after that, in milliseconds; connections that it forwards may never end.
    private static let terminationGracePeriod: Int64 = 500

    private let arguments: SSHArguments
    private let overrides: SSHSettingOverrides
    private let control: String
    private let keeper: ChildProcess
    /// The keeper's standard input; when it ends, the keeper removes the directory.
    private var input: Pipe
    /// The keeper's standard output.
    private let output: Pipe
    /// The path of the socket on the other host.
    let socket: String

    /// Connects, with the prompts of ssh, and starts the keeper.
    ///
    /// - Parameters:
    ///   - arguments: The host and options.
    ///   - control: The path at which ssh creates its control socket.
    ///   - signals: The signals to relay to ssh meanwhile.
    /// - Throws: ``SSHFailure`` if ssh did not connect, which it has reported, or ``AgentError`` if there
    ///   is no directory.
    init(
        _ arguments: SSHArguments,
        control: String,
        _ signals: borrowing RelayedSignals
    ) throws {
        var input = try Pipe(isReadByChild: true)
        var output = try Pipe()
        let overrides = SSHSettingOverrides(arguments)
        let own =
            ["-M", "-S", control, "-T", "-o", "ControlPersist=no", "-o", "RemoteCommand=none"]
            + overrides.ofKeeper
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
            throw AgentError(.internal, "\(arguments.host) did not create a directory for the socket")
        }
        self.arguments = arguments
        self.overrides = overrides
        self.control = control
        self.keeper = keeper
        self.input = input
        self.output = output
        socket = announced
    }

    /// Makes the other host remove its directory, and ends the connection.
    func end() {
        input.closeWriting()
        let ended = hardening_open_process(keeper.pid)
        defer { if ended >= 0 { close(ended) } }
        // A program on the other host that holds a connection keeps ssh from exiting, and so do the user's
        // own connections.
        if !isOver(ended, within: SSHMasterConnection.timeout, orOnce: RemoteShell.hasEnded),
            !isOver(ended, within: SSHMasterConnection.terminationGracePeriod)
        {
            kill(keeper.pid, SIGTERM)
        }
        _ = keeper.wait()
    }

    /// Waits until ssh exits or `isEnough` accepts the output of the keeper.
    ///
    /// - Parameters:
    ///   - ended: The process descriptor of ssh.
    ///   - milliseconds: The maximum time to wait.
    ///   - isEnough: Returns whether the output so far ends the wait.
    /// - Returns: Whether ssh has exited.
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
            text = Array((text + more).suffix(SSHMasterConnection.maximumOutput))
            if isEnough(text) { return false }
        }
        return false
    }

    /// Reads the keeper's output until it has printed the path of the socket, or returns `nil` if it ends
    /// before that.
    private static func socket(
        announcedAt output: borrowing Pipe,
        by keeper: ChildProcess,
        _ signals: borrowing RelayedSignals
    ) -> String? {
        var text: [UInt8] = []
        while text.count < maximumOutput {
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

    /// Makes the other host listen at its socket and forward connections to `path`.
    func forward(to path: String) throws(AgentError) {
        guard try obeys(["forward", "-R", "\(socket):\(path)"]) else {
            throw AgentError(
                .denied,
                "\(arguments.host) does not allow forwarding of sockets",
                remedy: .set("AllowStreamLocalForwarding and DisableForwarding in its sshd_config(5)")
            )
        }
    }

    /// Whether the connection still exists.
    var isHeld: Bool { (try? obeys(["check"], error: .null)) == true }

    /// Returns whether the master process of ssh has executed a control command.
    private func obeys(
        _ order: [String],
        error: ChildProcess.Stream = .inherited
    ) throws(AgentError) -> Bool {
        // Ignore the configuration, because only the control socket matters.
        let words = ["-F", "/dev/null", "-S", control, "-O"] + order + ["--", arguments.host]
        return try ChildProcess("ssh", words, output: .null, error: error).wait() == 0
    }

    /// Starts the command, or a shell, on the other host.
    func startShell() throws(AgentError) -> ChildProcess {
        // Without the control socket ssh would open its own connection and prompt the user again.
        let own =
            [
                "-S", control, "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o",
                "RemoteCommand=none",
                "-o", "ClearAllForwardings=yes",
            ] + overrides.ofShell
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

/// An exit of ssh before the connection was established, which ssh has reported.
struct SSHFailure: Error {
    /// The exit status of ssh: 255, or that of the command that the other host ran instead.
    var status: Int32
}
