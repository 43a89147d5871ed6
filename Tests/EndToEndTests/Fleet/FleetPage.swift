// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text

/// A fleet that is set up as in tokenagent-fleet(7).
///
/// Its three hosts are addresses of this machine.
struct FleetPage {
    private static let examples = DocumentedExample.all.filter { $0.place.hasPrefix("tokenagent-fleet.7") }
    /// Whether the programs that the page uses are installed.
    static let isPossible =
        ["etcd", "etcdctl", "openssl", "curl"].allSatisfy { name in
            ["/usr/local/bin", "/usr/bin", "/bin"].contains { File.exists("\($0)/\(name)") }
        }

    /// The agent whose programs and home directory the page's commands use.
    let agent: AgentUnderTest
    /// The replacement for the network 10.0.0.
    ///
    /// It is random, so that concurrent runs can use the page's ports.
    private let network = "127.\(Int.random(in: 1...250)).\(Int.random(in: 1...250))"

    /// The prefix of the fleet's keys in etcd, or an empty string before the fleet is created.
    var prefix: String { File.text(agent.home.path("prefix")) ?? "" }

    init() throws {
        agent = try AgentUnderTest()
        for name in ["etc", "stand-ins", "host1", "host2", "host3"] { try agent.home.makeDirectory(name) }
        // Copies to a directory for each host.
        let copy = #"""
            #!/bin/sh
            [ "$1" = -p ] && shift
            for last in "$@"; do :; done
            while [ $# -gt 1 ]; do cp -p "$1" "${last%%:*}/$(basename "${last##*tokenagent/}")" || exit; shift; done
            """#
        try agent.home.write(copy, to: "stand-ins/scp", mode: 0o700)
        // Makes directories, and does as root what the page has root do.
        let remote = #"""
            #!/bin/sh
            case $1 in root@*) shift; exec sh -c "$*" ;; esac
            exec test -d "$1" -a "$2 $6" = "mkdir .config/tokenagent"
            """#
        try agent.home.write(remote, to: "stand-ins/ssh", mode: 0o700)
        // The test has no root rights and no systemd, so substitutes do nothing or record their arguments.
        try agent.home.write("#!/bin/sh\n", to: "stand-ins/chown", mode: 0o700)
        try agent.home.write(
            "#!/bin/sh\nfor last in \"$@\"; do :; done\nexec mkdir -p \"$last\"\n",
            to: "stand-ins/install",
            mode: 0o700
        )
        try agent.home.write(
            "#!/bin/sh\necho \"$*\" >>\"\(agent.home.path("systemctl.log"))\"\n",
            to: "stand-ins/systemctl",
            mode: 0o700
        )
    }

    /// Returns the example that begins with `start`, adapted to the host with this number.
    func example(_ start: String, host: Int = 1) throws -> String {
        let found = try #require(Self.examples.first { $0.text.hasPrefix(start) }, "no example: \(start)")
        let own = found.commands.split(separator: "\n", omittingEmptySubsequences: false).map { part in
            let line = String(part)
            // The same on all hosts.
            guard host != 1, !line.contains("etcd2=") else { return line }
            return line.replacing("etcd1", with: "etcd\(host)").replacing("10.0.0.1", with: "10.0.0.\(host)")
        }
        // Connections to every address of this machine come from 127.0.0.1.
        return own.joined(separator: "\n").replacing("IP:10.0.0.$n", with: "IP:10.0.0.$n,IP:127.0.0.1")
            .replacing("10.0.0", with: network)
            .replacing("/etc/etcd", with: agent.home.path("etc"))
            .replacing("/var/lib/etcd/build", with: agent.home.path("data\(host)"))
            .replacing("/tokenagent/0123456789abcdef0123456789abcdef/", with: prefix)
    }

    /// Runs a script in the directory of the set-up.
    @discardableResult
    func run(_ script: String) async throws -> String {
        let result = try await program("set -e\n" + script).finish()
        try #require(result.status == 0, "\(result)\n\(script)")
        return result.standardOutput
    }

    /// Runs a script with the variables of the fourth step, as this user of etcd.
    @discardableResult
    func run(as user: String, _ script: String) async throws -> ProgramResult {
        let step = try example("umask 077\nexport ETCDCTL_API")
        let exports = step.split(separator: "\n").filter { $0.hasPrefix("export ") }.joined(separator: "\n")
        return try await program(
            "\(exports)\nexport ETCDCTL_USER=\(user):$(cat \(user).password)\n\(script)"
        ).finish()
    }

    private func program(_ script: String) throws -> Program {
        var environment = agent.environment
        environment["PATH"] = "\(agent.home.path("stand-ins")):\(environment["PATH"] ?? "")"
        // etcd needs much time to check a password on a busy machine.
        environment["ETCDCTL_COMMAND_TIMEOUT"] = "60s"
        return try Program(
            ["/bin/sh", "-c", script],
            environment: environment,
            directory: agent.home.path,
            hasTerminal: false
        )
    }

    /// Starts members with the settings of the page, these changed by `change`.
    func members(
        _ hosts: ClosedRange<Int> = 1...3,
        _ change: (String) -> String = { $0 }
    ) async throws -> [Program] {
        let members = try hosts.map { host in
            let settings = change(try example("ETCD_NAME=etcd1", host: host))
            return try program("set -a\n\(settings)\nexec etcd")
        }
        let health = """
            export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=https://\(address(of: hosts.upperBound)):2379
            export ETCDCTL_CACERT=ca.pem ETCDCTL_CERT=host.pem ETCDCTL_KEY=host.key
            [ -e root.password ] && export ETCDCTL_USER=root:$(cat root.password)
            etcdctl endpoint health
            """
        let isHealthy = try await Polling.until { try await program(health).finish().status == 0 }
        try #require(isHealthy, "\(members.map(\.standardError))")
        return members
    }

    func address(of host: Int) -> String { "\(network).\(host)" }

    /// Asks the second member's JSON gateway, as the agent does.
    func ask(
        _ call: String,
        _ body: String,
        token: String? = nil,
        certificate: String = "host"
    ) async throws
        -> String
    {
        try await run(request(call, body, token: token, certificate: certificate))
    }

    /// Watches a key at the second member's JSON gateway until etcd ends it.
    func watch(_ key: String, token: String) throws -> Program {
        let body = #"{"create_request":{"key":"\#(Base64.encoded(Array(key.utf8)))"}}"#
        return try program("exec " + request("watch", body, token: token, certificate: "host"))
    }

    /// The line of shell that sends a request to the second member's JSON gateway, and prints its answer as it comes.
    private func request(_ call: String, _ body: String, token: String?, certificate: String) -> String {
        let header = token.map { "-H 'Authorization: \($0)'" } ?? ""
        return """
            curl -sN --cacert ca.pem --cert \(certificate).pem --key \(certificate).key \(header) \
            https://\(address(of: 2)):2379/v3/\(call) -d '\(body)'
            """
    }
}
