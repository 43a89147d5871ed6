// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

/// An sshd of OpenSSH on loopback that lets the user who runs the tests in, and an ssh that finds it as `far`.
///
/// On its side, the user has a different home directory, `PATH` and `tokenctl`.
final class SSHServer: Sendable {
    /// sshd insists on being called by its whole path.
    static let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].first(where: File.exists)
    static let isInstalled = program != nil && Program.succeeds("command -v ssh && command -v ssh-keygen")
    static let reason: Comment = "openssh-server is not installed"

    let directory: TemporaryDirectory
    private let server: Program

    /// Starts it with `lines` before the rest of sshd_config(5); the first value of a key is the one that counts.
    static func start(_ lines: String = "") async throws -> SSHServer {
        for _ in 0..<10 {
            let server = try await SSHServer(port: Int.random(in: 20_000..<60_000), lines)
            if try await server.listens() { return server }
        }
        throw SystemFailure("sshd", code: 0)
    }

    private init(port: Int, _ lines: String) async throws {
        directory = try TemporaryDirectory()
        try SSHServer.configure(directory, port, lines)
        server = try Program(
            [SSHServer.program ?? "sshd", "-D", "-e", "-f", directory.path("sshd_config")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"],
            hasTerminal: false
        )
    }

    /// Makes the keys of host and user, and the configuration of both ends.
    private static func configure(_ directory: TemporaryDirectory, _ port: Int, _ lines: String) throws {
        let place = directory.path
        try #require(
            Program.succeeds(
                """
                cd '\(place)' && mkdir home runtime && chmod 700 runtime &&
                ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user &&
                echo "environment=\\"HOME=\(place)/home\\",environment=\\"XDG_RUNTIME_DIR=\(place)/runtime\\" $(cat user.pub)" \
                    >authorized && chmod 600 authorized &&
                { [ "$(id -u)" != 0 ] || mkdir -p /run/sshd; }
                """
            )
        )
        try directory.write(
            """
            \(lines)
            Port \(port)
            ListenAddress 127.0.0.1
            HostKey \(place)/host
            AuthorizedKeysFile \(place)/authorized
            PermitUserEnvironment HOME,XDG_RUNTIME_DIR
            SetEnv PATH=\(BuiltPrograms.directory):/usr/local/bin:/usr/bin:/bin
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            PermitRootLogin yes
            StreamLocalBindUnlink no
            PidFile none

            """,
            to: "sshd_config"
        )
        try directory.write(
            """
            Host far
              HostName 127.0.0.1
              Port \(port)
              IdentityFile \(place)/user
              IdentitiesOnly yes
              UserKnownHostsFile \(place)/known
              StrictHostKeyChecking accept-new
              LogLevel ERROR

            """,
            to: "ssh_config"
        )
    }

    private func listens() async throws -> Bool {
        _ = try await Polling.until(within: .seconds(20)) {
            server.exitStatus != nil || server.standardError.contains("Server listening on")
        }
        return server.exitStatus == nil
    }

    /// Adds a line about this server to ssh_config(5).
    func configure(_ line: String) throws {
        let text = File.text(directory.path("ssh_config")) ?? ""
        try directory.write(text + "  \(line)\n", to: "ssh_config")
    }

    /// The options with which ssh(1) finds this server.
    var configuration: [String] { ["-F", directory.path("ssh_config")] }

    /// The names of the directories of the sockets that are forwarded to this server.
    var sockets: [String] { directory.names(in: "runtime").filter { $0.hasPrefix("tokenagent-ssh.") } }

    /// The log of sshd.
    var log: String { server.standardError }
}
