// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// A running agent whose session `phone` belongs to a back end that is no OAuth, over HTTPS with a pinned key.
struct KindScene {
    let issuer: DemoIssuer
    let agent: AgentUnderTest

    /// `lines` are told the address of the issuer and give the settings of the session.
    init(_ routes: [Route], _ lines: (String) -> String) async throws {
        let authority = try CertificateAuthority()
        let identity = try authority.issue()
        var options = DemoIssuer.Options()
        options.tls = identity
        issuer = try await DemoIssuer.start(options)
        for route in routes { issuer.add(route) }
        agent = try AgentUnderTest()
        let file = try agent.home.write(authority.certificatePEM, to: "ca.pem")
        try agent.configure(
            """
            [session.phone]
            ca_file = "\(file)"
            pins = ["sha256/\(identity.publicKeyHash ?? "")"]
            \(lines(issuer.issuer))

            """
        )
        try await agent.start()
    }

    /// `more` holds further lines of the session.
    static func json(_ backEnd: MobileBackEnd, more: String = "") async throws -> KindScene {
        try await KindScene(backEnd.routes) { address in
            """
            kind = "json"
            preset = "\(backEnd.style.rawValue)"
            login_url = "\(address)\(backEnd.loginPath)"
            refresh_url = "\(address)\(backEnd.refreshPath)"
            logout_url = "\(address)\(backEnd.logoutPath)"
            \(more)
            """
        }
    }

    static func cognito(_ double: CognitoDouble) async throws -> KindScene {
        try await KindScene([double.route]) { address in
            """
            kind = "cognito"
            region = "\(CognitoDouble.region)"
            user_pool_id = "\(CognitoDouble.poolID)"
            client_id = "cli"
            endpoint = "\(address)/"
            """
        }
    }

    /// Logs in, refreshes, kills the agent and starts it again.
    ///
    /// - Returns: the token that is served from then on.
    /// - Throws: what the agent's start throws.
    @discardableResult
    func liveThroughKill() async throws -> String {
        try await logIn()
        let first = try await get().line
        #expect(try await agent.tokenctl("refresh", "phone").status == 0)
        let second = try await get().line
        #expect(first != second)
        try await agent.kill()
        try await agent.start()
        #expect(try await get().line == second)
        return second
    }

    func logIn() async throws {
        let result = try await agent.tokenctl(
            "login",
            "phone",
            "--username",
            "alice",
            "--password-stdin",
            input: "alice-password\n"
        )
        try #require(result.status == 0, "\(result.standardError) \(agent.log)")
    }

    func get(_ arguments: String...) async throws -> ProgramResult {
        try await agent.tokenctl(["get", "phone"] + arguments)
    }

    /// Runs curl with the session's token for a path of the issuer.
    func curl(_ path: String) async throws -> ProgramResult {
        try await agent.tokenctl(["curl", "phone", "--", "-s"] + curlTrust + [issuer.issuer + path])
    }

    func herd(_ size: Int, path: String) -> CurlHerd {
        CurlHerd(size: size, agent: agent, issuer: issuer, session: "phone", path: path, options: curlTrust)
    }

    private var curlTrust: [String] { ["--cacert", agent.home.path("ca.pem")] }

    /// Tells the agent what a resource server said about `token`.
    func report(_ token: String, status: Int = 401, body: String) async throws -> ConnectedAgentSocket.Reply {
        let report: JSONValue = [
            "token": .string(token), "status": .integer(status), "body": .string(body),
        ]
        return try await agent.socket.request("POST", "/v1/sessions/phone/report", body: report.text)
    }

    /// The tokens two hundred callers are given whose token was refused at the same moment.
    func reportAtOnce(_ token: String, body: String) async throws -> [String?] {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<200 {
                group.addTask { try await report(token, body: body).json?["access_token"]?.string }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
