// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

/// Hosts that share the session `work` in a real etcd: agents in homes of their own, on this machine.
struct FleetScene {
    static let etcd = ProviderScript("etcd.py")

    let issuer: DemoIssuer
    let keepers: [AgentUnderTest]
    let readers: [AgentUnderTest]
    let work: TemporaryDirectory
    /// The addresses of etcd.
    private let endpoints: [String]

    var hosts: [AgentUnderTest] { keepers + readers }

    /// Starts etcd, the issuer and the hosts, and calls `body` before any login.
    ///
    /// The issuer uses TLS if there is an `authority` to sign its certificate.
    static func whileRunning(
        keepers: Int = 2,
        readers: Int = 0,
        over authority: CertificateAuthority? = nil,
        _ settings: (inout IssuerSettings) -> Void = { $0.rotation = .strict },
        session: String = "",
        _ body: (FleetScene) async throws -> Void
    ) async throws {
        var options = DemoIssuer.Options()
        options.settings.accessLifetime = .seconds(600)
        settings(&options.settings)
        options.tls = try authority?.issue()
        let issuer = try await DemoIssuer.start(options)
        try await etcd.whileRunning { work, state in
            let endpoints = state["endpoints"]?.array?.compactMap(\.string) ?? []
            var session = session
            if let authority {
                session += "ca_file = \"\(try work.write(authority.certificatePEM, to: "ca.pem"))\"\n"
            }
            let scene = try FleetScene(issuer, work, endpoints, keepers, readers, session)
            try await scene.makeKeys()
            for host in scene.hosts { try await host.start() }
            try await body(scene)
            for host in scene.hosts { try await host.end() }
        }
    }

    private init(
        _ issuer: DemoIssuer,
        _ work: TemporaryDirectory,
        _ endpoints: [String],
        _ keepers: Int,
        _ readers: Int,
        _ session: String
    ) throws {
        self.issuer = issuer
        self.work = work
        self.endpoints = endpoints
        func host(_ name: String, isReader: Bool) throws -> AgentUnderTest {
            try AgentUnderTest(
                configuration: """
                    [fleet]
                    name = "team"
                    host = "\(name)"
                    role = "\(isReader ? "reader" : "keeper")"
                    endpoints = [\(endpoints.map { "\"\($0)\"" }.joined(separator: ", "))]
                    fleet_key_file = "\(work.path(isReader ? "key.reader" : "key"))"

                    """ + Scene.session("work", issuer, more: "fleet = true\n" + session)
            )
        }
        self.keepers = try (0..<keepers).map { try host("keeper\($0)", isReader: false) }
        self.readers = try (0..<readers).map { try host("reader\($0)", isReader: true) }
    }

    private func makeKeys() async throws {
        let made = try await keepers[0].tokenctl(
            "fleet",
            "init",
            "--key-file",
            work.path("key"),
            "--name",
            "team"
        )
        try #require(made.status == 0, "\(made.standardError)")
    }

    /// Logs in at `host` with alice's password.
    func logIn(at host: AgentUnderTest) async throws {
        let result = try await tryLogIn(at: host)
        try #require(result.status == 0, "login failed: \(result.standardError) \(host.log)")
    }

    func tryLogIn(at host: AgentUnderTest) async throws -> ProgramResult {
        try await host.tokenctl(
            ["login", "work", "--flow", "password", "--username", "alice", "--password-stdin"],
            input: "alice-password\n"
        )
    }

    /// Logs in and starts a refresh at `host`, whose response the issuer holds.
    ///
    /// - Returns: the current token, and the refresh, which ends after the issuer has released the response.
    func holdRefresh(at host: AgentUnderTest) async throws -> (token: String, refresh: Task<Void, any Error>)
    {
        try await logIn(at: keepers[0])
        let token = try #require(try await commonToken())
        issuer.forgetRequests()
        issuer.queue(Disturbance(isHeld: true), for: "/token")
        let refresh = Task { _ = try await host.tokenctl("refresh", "work") }
        #expect(await issuer.hasReceived(1, to: "/token", within: .seconds(60)))
        return (token, refresh)
    }

    /// Has `host` obtain tokens that etcd does not get: its first member is killed or paused before the issuer responds.
    ///
    /// - Returns: the token from before.
    @discardableResult func refreshWithoutEtcd(
        at host: AgentUnderTest,
        by action: String = "kill"
    ) async throws -> String {
        let (token, refresh) = try await holdRefresh(at: host)
        try await etcd(action, "n1")
        issuer.release()
        try await refresh.value
        return token
    }

    /// Returns the token that `host` serves, or `nil` if it serves none.
    func token(of host: AgentUnderTest) async throws -> String? {
        let result = try await host.tokenctl("get", "work")
        return result.status == 0 ? result.line : nil
    }

    /// Waits until all `hosts` serve the same token, and returns it.
    func commonToken(
        of hosts: [AgentUnderTest]? = nil,
        besides former: String? = nil
    ) async throws -> String? {
        try await Polling.value(within: .seconds(60)) {
            var tokens: Set<String?> = []
            for host in hosts ?? self.hosts { tokens.insert(try await token(of: host)) }
            guard tokens.count == 1, let token = tokens.first, let token, token != former else { return nil }
            return token
        }
    }

    /// Returns the output of `tokenctl fleet status --json` at `host`.
    func status(at host: AgentUnderTest) async throws -> JSONObject {
        let result = try await host.tokenctl("fleet", "status", "--json")
        let answer = try? JSONValue(parsing: result.standardOutput.utf8)
        return try #require(answer?.object, "\(result.standardError)")
    }

    /// Returns the fleet status of the session `work` at `host`.
    func record(at host: AgentUnderTest) async throws -> JSONObject? {
        try await status(at: host)["sessions"]?.array?.first?.object
    }

    /// Returns the number of refreshes in the fleet's record of `work`.
    func generation(at host: AgentUnderTest) async throws -> Int? {
        guard case .number(let number)? = try await record(at: host)?["generation"] else { return nil }
        return Int(number)
    }

    /// Restarts `host`, so that it reaches etcd through a relay.
    func relay(for host: AgentUnderTest) async throws -> HeldRelay {
        let endpoint = try #require(endpoints.first)
        let port = try #require(endpoint.bytewise.split(on: ":").last.flatMap { Int(String($0)) })
        let relay = try await HeldRelay.start(to: port)
        let text = try #require(File.text(host.configurationPath))
        try await host.end()
        try host.configure(text.replacing(":\(port)\"", with: ":\(relay.port)\""))
        try await host.start()
        return relay
    }

    /// Sends a control command to the script that runs etcd.
    @discardableResult
    func etcd(_ words: String...) async throws -> String { try await etcd(words) }

    @discardableResult
    func etcd(_ words: [String]) async throws -> String {
        let result = try await Self.etcd.run([work.path] + words)
        try #require(result.status == 0, "\(result.standardError)")
        return result.standardOutput
    }

    /// The number of refreshes that the issuer has received.
    var refreshes: Int { issuer.tokenRequests("refresh_token") }
}
