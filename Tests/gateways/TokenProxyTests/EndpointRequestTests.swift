// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text

@testable import TokenProxy

/// The secret and the requested token of a request to an endpoint.
@Suite struct EndpointRequestTests {
    private static func rules() -> EndpointRules {
        EndpointRules(
            ProxyListenerMessage {
                $0.secret = "AC"
                $0.scopes = ["write", "https://vault.example/.default"]
                $0.audiences = ["https://extra.example", "https://slash.example/"]
                $0.sessionScopes = ["openid", "read"]
                $0.sessionAudiences = ["https://api.example"]
                $0.sessionClient = "cli"
            }
        )
    }

    @Test(
        .holds("233"),
        arguments: [
            ("X-Identity-Header: AC", true), ("X-Identity-Header: @B", false),
            ("X-Identity-Header: ac", false),
            ("X-Identity-Header: A", false), ("X-Identity-Header: ACC", false), ("X-Identity-Header:", false),
            ("X-Identity-Header: AC\nX-Identity-Header: AC", false), ("X-Other: AC", false),
        ]
    )
    func `a secret counts only if it is whole, and there once`(fields: String, isShown: Bool) throws {
        let request = try RequestTests.request("GET / HTTP/1.1\nHost: h\n\(fields)")
        let call = EndpointRequest(request: request, path: "/", query: [], rules: Self.rules())
        #expect(call.showsSecret(in: "x-identity-header") == isShown)
    }

    @Test(
        .holds("233"),
        arguments: [
            ([], EndpointTokenRequest()), (["read"], EndpointTokenRequest()),
            (["read", "write"], EndpointTokenRequest(scopes: ["read", "write"])), (["read", "admin"], nil),
        ] as [([String], EndpointTokenRequest?)]
    )
    func `scopes are those of the session, or those of the table`(
        scopes: [String],
        expected: EndpointTokenRequest?
    ) {
        #expect(Self.rules().tokenRequest(scopes: scopes) == expected)
    }

    @Test(
        .holds("233"),
        arguments: [
            ("https://api.example", EndpointTokenRequest()), ("https://api.example/", EndpointTokenRequest()),
            ("https://extra.example", EndpointTokenRequest(audience: "https://extra.example")),
            ("https://vault.example", EndpointTokenRequest(scopes: ["https://vault.example/.default"])),
            ("https://slash.example", EndpointTokenRequest(audience: "https://slash.example/")),
            ("https://slash.example/", EndpointTokenRequest(audience: "https://slash.example/")),
            ("https://other.example", nil), ("https://api.example/x", nil), ("HTTPS://api.example", nil),
        ] as [(String, EndpointTokenRequest?)]
    )
    func `a resource is an audience or a default scope that may be asked for`(
        resource: String,
        expected: EndpointTokenRequest?
    ) {
        #expect(Self.rules().tokenRequest(resource: resource) == expected)
    }

    @Test func `an ID token may be asked for the client, a token may not`() {
        #expect(Self.rules().tokenRequest(ofIDTokenFor: "cli") == EndpointTokenRequest())
        #expect(
            Self.rules().tokenRequest(ofIDTokenFor: "https://extra.example")?.audience
                == "https://extra.example"
        )
        #expect(Self.rules().tokenRequest(ofIDTokenFor: "other") == nil)
        #expect(Self.rules().tokenRequest(audience: "cli") == nil)
    }

    @Test(arguments: [
        (#"{"aud":"svc"}"#, 200), (#"{"aud":["cli","svc"]}"#, 200), (#"{"aud":"cli"}"#, 400),
        (#"{"aud":"svc2"}"#, 400),
        (#"{"aud":["svc",1]}"#, 400), (#"{"sub":"svc"}"#, 400), ("[]", 400),
    ])
    func `an ID token goes only to who asked for its audience`(claims: String, status: Int) {
        let token = [#"{"alg":"none"}"#, claims, "s"].map { Base64.urlEncoded($0.utf8) }.joined(
            separator: "."
        )
        let answer = GCEMetadata.identity(token, for: "svc")
        #expect(answer.status == status && (answer.body == Array(token.utf8)) == (status == 200))
        #expect(GCEMetadata.identity("opaque", for: "svc").status == 400)
    }

    @Test(
        arguments: [
            ("/computeMetadata", .directory(1)), ("/computeMetadata/v1/", .directory(2)),
            ("/computeMetadata/v1/instance", .directory(3)), ("/computeMetadata/v1/instance/", .directory(3)),
            ("/computeMetadata/v1/instance/service-accounts", .directory(4)),
            ("/computeMetadata/v1/instance/service-accounts/default", .account("default", item: nil)),
            ("/computeMetadata/v1/instance/service-accounts/a@b/", .account("a@b", item: nil)),
            ("/computeMetadata/v1/instance/service-accounts/a@b/token", .account("a@b", item: "token")),
            // Libraries that encode what goes into a path (RFC 3986 §2.3, §6.2.2.2).
            ("/computeMetadata/v1/instance/service-accounts/a%40b/token", .account("a@b", item: "token")),
            (
                "/computeMetadata/v1/instance/service%2Daccounts/auth0%7C1/email",
                .account("auth0|1", item: "email")
            ),
            (
                "/computeMetadata/v1/instance/service-accounts/a%2Fb/token",
                .account("a/b", item: "token")
            ),
            ("/computeMetadata/v1/instance/service-accounts/%FF/token", nil),
            ("/computeMetadata/v1/instance/service-accounts/%4/token", nil),
            ("/computeMetadata/v1/instance/service-accounts/a+b/token", .account("a+b", item: "token")),
            // Libraries take 404 for the default universe.
            ("/computeMetadata/v1/universe/universe-domain", nil),
            ("/computeMetadata/v1/universe/universe_domain", nil),
            ("/computeMetadata/v1/instance/service-accounts/a@b/token/", nil),
            ("/computeMetadata/v1/instance/service-accounts//token", nil),
            ("/computeMetadata/v1/instance/service-accounts//", nil),
            ("/computeMetadata/v1/instance/service-accounts/a/b/c", nil),
            ("/computeMetadata//v1", nil),
            ("/computeMetadata/v1/project/project-id", .project(item: "project-id")),
            ("/computeMetadata/v1/project", .project(item: nil)),
            ("/computeMetadata/v1/project/", .project(item: nil)),
            ("/computeMetadata/v1/project/project-id/", nil), ("/computeMetadata/v1/project//", nil),
            ("/computeMetadata/v1/project/a/b", nil), ("/computeMetadata/v2/project/project-id", nil),
            ("/computeMetadata/v1beta1/instance", nil), ("//computeMetadata/v1", nil), ("/x", nil),
        ] as [(String, GCEMetadataPath?)]
    )
    func `a path of the metadata server names a directory, an account, or what is asked of it`(
        path: String,
        meaning: GCEMetadataPath?
    ) {
        #expect(GCEMetadataPath(path) == meaning)
    }
}
