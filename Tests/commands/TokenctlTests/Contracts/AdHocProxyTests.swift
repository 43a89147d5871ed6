// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing

@testable import tokenctl_commands

/// The servers to which `tokenctl proxy NAME --upstream URL` may send a session's tokens.
struct AdHocProxyTests {
    struct Row: Sendable {
        var hosts: [String]?
        var resource: String?
        /// Whether the agent says that the hosts are derived from the resource.
        var hasHostsOfResource: Bool?
        var upstream: String
        var isServed: Bool
    }

    static let rows = [
        Row(upstream: "https://any.example/x", isServed: true),
        Row(hosts: ["a.example"], upstream: "https://a.example/x", isServed: true),
        Row(hosts: ["*.a.example"], upstream: "https://b.a.example", isServed: true),
        Row(hosts: ["a.example"], upstream: "https://b.example", isServed: false),
        Row(hosts: ["a.example:8443"], upstream: "https://a.example", isServed: false),
        // The agent's data about a session for a resource without configured hosts.
        Row(
            hosts: ["a.example"],
            resource: "https://a.example/v1",
            hasHostsOfResource: true,
            upstream: "https://a.example/v1/x",
            isServed: true
        ),
        Row(
            hosts: ["a.example"],
            resource: "https://a.example/v1",
            hasHostsOfResource: true,
            upstream: "https://a.example/v10",
            isServed: false
        ),
        Row(
            hosts: ["a.example"],
            resource: "https://a.example/v1",
            hasHostsOfResource: true,
            upstream: "https://a.example",
            isServed: false
        ),
        // Configured hosts apply to every path, even with a resource at the same host.
        Row(
            hosts: ["a.example"],
            resource: "https://a.example/v1",
            upstream: "https://a.example/v10",
            isServed: true
        ),
        Row(
            hosts: ["b.example"],
            resource: "https://a.example/v1",
            upstream: "https://b.example",
            isServed: true
        ),
        Row(resource: "https://a.example/v1", upstream: "https://b.example", isServed: false),
    ]

    @Test(arguments: rows)
    func `tokens go to the servers that they are for`(row: Row) {
        let proxy = AdHocProxy(keys: "", session: "work", upstream: row.upstream)
        let session = SessionMessage {
            $0.session = "work"
            $0.hosts = row.hosts
            $0.resource = row.resource
            $0.hasHostsOfResource = row.hasHostsOfResource
        }
        var code: FailureCode?
        do throws(AgentError) {
            try proxy.check(session)
        } catch {
            code = error.code
        }
        #expect(code == (row.isServed ? nil : .misconfigured))
    }

    @Test(arguments: ["aws_role", "aws_sso"])
    func `a session with a role's credentials has no token to add`(kind: String) {
        let proxy = AdHocProxy(keys: "", session: "role", upstream: "https://a.example")
        let error = #expect(throws: AgentError.self) { try proxy.check(SessionMessage { $0.kind = kind }) }
        #expect(error?.remedy?.text.contains("aws-container") == true)
    }
}
