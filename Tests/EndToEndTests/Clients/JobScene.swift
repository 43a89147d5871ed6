// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// An agent that a job of GitHub Actions has started, whose session `work` belongs to a client without a secret.
///
/// The job's tokens come from a double over TLS. No key of the configuration names its authority, as GitHub's is a public
/// one: so the agent sees another list of the system's authorities.
struct JobScene {
    /// Whether a program can be run with other files mounted over those of this machine.
    static let isAvailable =
        File.exists(authorities) && Program.succeeds("unshare -m mount --bind /dev/null '\(authorities)'")

    private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

    let double: ActionsDouble
    /// Where the agent asks for the job's tokens.
    let host: DemoIssuer
    /// The issuer that accepts the host's tokens.
    let issuer: DemoIssuer
    let agent: AgentUnderTest
    private let trusted: String

    /// - Parameters:
    ///   - more: further keys of the session.
    ///   - tables: further tables, which come first.
    /// - Throws: the error why the servers do not run.
    init(more: String = "", tables: String = "") async throws {
        double = try ActionsDouble()
        let authority = try CertificateAuthority()
        var options = DemoIssuer.Options()
        options.tls = try authority.issue()
        host = try await DemoIssuer.start(options)
        host.add(double.route)
        options = DemoIssuer.Options()
        options.registry.clients.append(RegisteredClient(id: "demo-job"))
        options.registry.vouchers["demo-job"] = double.voucher
        issuer = try await DemoIssuer.start(options)
        agent = try AgentUnderTest(
            configuration: """
                \(tables)
                [session.work]
                kind = "oidc"
                issuer = "\(issuer.issuer)"
                client_id = "demo-job"
                client_assertion = "github-actions"
                scopes = ["api"]
                flow = "client_credentials"
                \(more)

                """
        )
        trusted = try agent.home.write(authority.certificatePEM, to: "authorities.pem")
    }

    /// Starts the agent as the job would, with the job's secret or another one.
    func start(bearer: String? = nil) async throws {
        let mount = "mount --bind '\(trusted)' '\(JobScene.authorities)' && exec \"$0\" \"$@\""
        try await agent.start(
            extraEnvironment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": double.address(at: host),
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": bearer ?? double.bearer,
            ],
            wrapper: ["unshare", "-m", "sh", "-c", mount]
        )
    }
}
