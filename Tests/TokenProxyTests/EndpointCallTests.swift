// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing

@testable import TokenProxy

/// What a request at an endpoint shows and asks for.
@Suite struct EndpointCallTests {
    private static func rules() -> EndpointRules {
        EndpointRules(
            ListenerMessage {
                $0.secret = "AC"
                $0.scopes = ["write", "https://vault.example/.default"]
                $0.audiences = ["https://extra.example"]
                $0.sessionScopes = ["openid", "read"]
                $0.sessionAudiences = ["https://api.example"]
            }
        )
    }

    @Test(arguments: [
        ("X-Identity-Header: AC", true), ("X-Identity-Header: @B", false), ("X-Identity-Header: ac", false),
        ("X-Identity-Header: A", false), ("X-Identity-Header: ACC", false), ("X-Identity-Header:", false),
        ("X-Identity-Header: AC\nX-Identity-Header: AC", false), ("X-Other: AC", false),
    ])
    func `a secret counts only if it is whole, and there once`(fields: String, isShown: Bool) throws {
        let request = try RequestTests.request("GET / HTTP/1.1\nHost: h\n\(fields)")
        let call = EndpointCall(request: request, path: "/", query: [], rules: Self.rules())
        #expect(call.showsSecret(in: "x-identity-header") == isShown)
    }

    @Test(
        arguments: [
            ([], EndpointWish()), (["read"], EndpointWish()),
            (["read", "write"], EndpointWish(scopes: ["read", "write"])), (["read", "admin"], nil),
        ] as [([String], EndpointWish?)]
    )
    func `scopes are those of the session, or those of the table`(
        scopes: [String],
        wish: EndpointWish?
    ) {
        #expect(Self.rules().wish(scopes: scopes) == wish)
    }

    @Test(
        arguments: [
            ("https://api.example", EndpointWish()), ("https://api.example/", EndpointWish()),
            ("https://extra.example", EndpointWish(audience: "https://extra.example")),
            ("https://vault.example", EndpointWish(scopes: ["https://vault.example/.default"])),
            ("https://other.example", nil), ("https://api.example/x", nil), ("HTTPS://api.example", nil),
        ] as [(String, EndpointWish?)]
    )
    func `a resource is an audience or a default scope that may be asked for`(
        resource: String,
        wish: EndpointWish?
    ) {
        #expect(Self.rules().wish(resource: resource) == wish)
    }
}
