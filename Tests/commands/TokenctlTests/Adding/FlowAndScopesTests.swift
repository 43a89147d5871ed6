// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing
import Text

@testable import tokenctl_commands

/// The choices of `tokenctl add` from the user's options and the server's capabilities.
struct FlowAndScopesTests {
    private static let everything = ServerProbeMessage {
        $0.flows = ["browser", "device", "password"]
        $0.authentication = ["none", "basic", "private_key_jwt"]
        $0.scopes = ["openid", "offline_access", "email"]
        $0.features = ["pkce"]
    }

    private func wish(
        provider: String? = nil,
        _ change: (inout NewSession) -> Void = { _ in }
    ) throws -> NewSession {
        let provider = try provider.map { try Provider.named($0) }
        var server = NewSessionServer(provider: provider, issuer: "https://id.example")
        server.kind = provider?.kind ?? .oidc
        var wish = NewSession(name: "z", server: server, client: NewSessionClient(id: "cli"))
        change(&wish)
        return wish
    }

    @Test func `what an issuer offers is chosen, the browser first`() throws {
        let chosen = try FlowAndScopes(try wish(), Self.everything)
        #expect(chosen.flow == .browser)
        #expect(chosen.scopes == ["openid", "offline_access"])
        #expect(chosen.notes.isEmpty)
    }

    @Test(arguments: [
        (["device"], LoginCommand.Flow.device), (["password", "device"], .device),
        (["client_credentials", "password"], .password), (["password"], .password),
        (["magic", "password"], .password),
    ])
    func `where there is no browser flow another one is chosen`(
        offered: [String],
        flow: LoginCommand.Flow
    ) throws {
        let offer = ServerProbeMessage { $0.flows = offered }
        #expect(try FlowAndScopes(try wish(), offer).flow == flow)
    }

    @Test func `what was said is chosen, and what the issuer does not name is noted`() throws {
        let wanted = try wish {
            $0.flow = .login(.clientCredentials)
            $0.scopes = ["api"]
            $0.client.certificateFile = "/c.pem"
        }
        let chosen = try FlowAndScopes(wanted, Self.everything)
        #expect(chosen.flow == .clientCredentials && chosen.scopes == ["api"])
        #expect(
            chosen.notes == [
                "the issuer does not announce the flow client_credentials",
                "the issuer does not announce support for clients with a certificate",
            ]
        )
    }

    @Test(arguments: [LoginCommand.Flow.browser, .device])
    func `a flow that lacks its endpoint is refused`(flow: LoginCommand.Flow) throws {
        let wanted = try wish { $0.flow = .login(flow) }
        let offer = ServerProbeMessage { $0.flows = ["password"] }
        let error = #expect(throws: AgentError.self) { try FlowAndScopes(wanted, offer) }
        #expect(error?.code == .misconfigured && error?.remedy == .set("--flow to password"))
        #expect(error?.message == "the issuer does not support the flow \(flow.rawValue)")
    }

    /// Returns options for a server without metadata, with endpoints of these names.
    private func written(
        _ endpoints: [String],
        flow: LoginCommand.Flow? = nil,
        hasSecret: Bool = false
    ) throws -> NewSession {
        try wish {
            $0.server.kind = .oauth2
            $0.server.endpoints = endpoints.map {
                ServerEndpointSetting("\($0)_endpoint", "https://id.example/x")
            }
            $0.flow = flow.map { .login($0) }
            $0.client.givesSecret = hasSecret
        }
    }

    @Test func `at a server without metadata a flow is chosen that has its endpoint`() throws {
        for (endpoints, hasSecret, flow) in [
            (["token", "authorization"], false, nil), (["token", "device_authorization"], false, .device),
            (["token", "device_authorization", "authorization"], false, nil),
            (["token"], true, .clientCredentials),
        ] as [([String], Bool, LoginCommand.Flow?)] {
            #expect(try FlowAndScopes(try written(endpoints, hasSecret: hasSecret), nil).flow == flow)
        }
        for flow in [LoginCommand.Flow.password, .import, .clientCredentials] {
            #expect(
                try FlowAndScopes(try written(["token"], flow: flow, hasSecret: true), nil).flow == flow
            )
        }
    }

    @Test(
        arguments: [
            (["token"], nil, "--authorization-endpoint, --device-authorization-endpoint or --flow"),
            (["token", "device_authorization"], .browser, "--authorization-endpoint or another --flow"),
            (["token", "authorization"], .device, "--device-authorization-endpoint or another --flow"),
        ] as [([String], LoginCommand.Flow?, String)]
    )
    func `a flow that nobody could log in by is refused, with the option that helps`(
        endpoints: [String],
        flow: LoginCommand.Flow?,
        option: String
    ) throws {
        let wanted = try written(endpoints, flow: flow)
        let error = #expect(throws: AgentError.self) { try FlowAndScopes(wanted, nil) }
        #expect(error?.code == .badRequest && error?.remedy?.text.contains(option) == true)
    }

    @Test func `an issuer without any flow is good for an import alone`() throws {
        let offer = ServerProbeMessage { $0.flows = [] }
        let error = #expect(throws: AgentError.self) { try FlowAndScopes(try wish(), offer) }
        #expect(error?.remedy?.text.contains("--flow to import") == true)
        #expect(try FlowAndScopes(try wish { $0.flow = .login(.import) }, offer).notes.isEmpty)
    }

    @Test(
        arguments: [
            (nil, ["openid", "offline_access"]), ([], []), (["openid"], ["openid"]),
            (["email", "offline_access"], ["offline_access"]),
        ] as [([String]?, [String])]
    )
    func `the usual scopes are asked for as far as the issuer names any`(
        named: [String]?,
        scopes: [String]
    ) throws {
        let offer = ServerProbeMessage {
            $0.flows = ["browser"]
            $0.scopes = named
        }
        #expect(try FlowAndScopes(try wish(), offer).scopes == scopes)
    }

    @Test func `scopes of a provider that the issuer need not name stay`() throws {
        let offer = ServerProbeMessage {
            $0.flows = ["browser"]
            $0.scopes = ["openid"]
        }
        #expect(
            try FlowAndScopes(try wish(provider: "gitlab"), offer).scopes == [
                "openid", "read_api", "write_repository",
            ]
        )
        #expect(try FlowAndScopes(try wish(provider: "keycloak"), offer).scopes == ["openid"])
    }

    @Test func `a program's own login asks for no person's scopes`() throws {
        #expect(
            try FlowAndScopes(
                try wish {
                    $0.flow = .login(.clientCredentials)
                    $0.client.givesSecret = true
                },
                Self.everything
            )
            .scopes.isEmpty
        )
        #expect(try FlowAndScopes(try wish(provider: "cognito"), nil).scopes.isEmpty)
    }

    @Test(
        arguments: [
            (["none"], true), (["basic"], false), (["tls"], false), ([], false),
        ] as [([String], Bool)]
    )
    func `a client without a secret is noted where none is named`(ways: [String], isNamed: Bool) throws {
        let offer = ServerProbeMessage {
            $0.flows = ["browser"]
            $0.authentication = ways
        }
        let notes = try FlowAndScopes(try wish(), offer).notes
        #expect(
            notes == (isNamed ? [] : ["the issuer does not announce support for clients without a secret"])
        )
    }

    @Test func `what is offered is said in one line`() {
        #expect(
            Self.everything.words
                == "Found the issuer (flows browser, device, password; client authentication none, basic, "
                + "private_key_jwt; scopes openid, offline_access, email; features pkce)"
        )
        #expect(ServerProbeMessage().words == "Found the issuer (no known features)")
    }
}
