// SPDX-License-Identifier: MIT

import NIOPosix
import SecretMemory
import ServerSettings
import Synchronization
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// A session at a protected resource whose servers answer from a list.
struct ResourceBench {
    static let resource = "https://api.example/v1/mcp"
    static let metadataURL = "https://api.example/meta"
    static let issuer = "https://as.example/tenant"
    static let issuerURL = "https://as.example/.well-known/oauth-authorization-server/tenant"
    /// Further addresses at which the server's metadata is searched.
    static let otherPlaces = [
        "https://as.example/.well-known/openid-configuration/tenant",
        "https://as.example/tenant/.well-known/openid-configuration",
    ]
    /// Further addresses at which the issuer's metadata is searched.
    static let otherIssuerURLs = [
        "https://as.example/.well-known/openid-configuration/tenant",
        "https://as.example/tenant/.well-known/openid-configuration",
    ]
    static let tokenURL = "https://as.example/token"

    let memory: SealedMemory
    let clock = ManualClock()
    let exchange = ScriptedExchange()
    let server: ResourceAuthorizationServer

    init(issuer: String? = nil, _ change: (inout ServerProfile) -> Void = { _ in }) throws {
        let resource = ProtectedResource(address: Self.resource, issuer: issuer)
        var profile = ServerProfile(kind: .resource(resource), client: ClientIdentity("cli"))
        change(&profile)
        memory = try SealedMemory()
        let tools = ServerDependencies(
            memory: memory,
            timekeeper: clock,
            commands: ScriptedCommands(),
            exchange: exchange,
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            sleep: BrowserLoginTests.forEver
        )
        server = ResourceAuthorizationServer(profile: profile, resource: resource, tools: tools)
        withoutWellKnown()
        challenge(#"Bearer resource_metadata="\#(Self.metadataURL)", scope="api:read""#)
        exchange.always(Self.metadataURL, .json(Self.document()))
        exchange.always(Self.issuerURL, .json(Self.metadata()))
        exchange.always(Self.tokenURL, .json(#"{"access_token":"at","refresh_token":"rt","expires_in":60}"#))
    }

    /// Sets the resource's response to requests without a token.
    func challenge(_ field: String?, isInternal: Bool = false) {
        let headers = field.map { [ServerResponse.Header(name: "www-authenticate", value: $0)] } ?? []
        exchange.always(
            Self.resource,
            .reply(ServerResponse(status: 401, headers: headers, isInternal: isInternal))
        )
    }

    /// Lets the well-known addresses of the resource's metadata respond with 404.
    private func withoutWellKnown() {
        for place in ["/v1/mcp", ""] {
            let url = "https://api.example/.well-known/oauth-protected-resource" + place
            exchange.always(url, .json("", status: 404))
        }
    }

    /// The resource's metadata, changed.
    static func document(_ changes: [String: JSONValue] = [:]) -> String {
        TestIssuer.changed(
            [
                "resource": .string(resource), "authorization_servers": [.string(issuer)],
                "scopes_supported": ["api:read", "api:write"],
            ],
            by: changes
        ).text
    }

    /// The server's metadata, changed.
    static func metadata(_ changes: [String: JSONValue] = [:]) -> String {
        TestIssuer.changed(
            [
                "issuer": .string(issuer), "token_endpoint": .string(tokenURL),
                "authorization_endpoint": "https://as.example/authorize",
                "response_types_supported": ["code"],
                "revocation_endpoint": "https://as.example/revoke",
                "code_challenge_methods_supported": ["S256"],
            ],
            by: changes
        ).text
    }

    /// Logs in with the browser, and returns the outcome, the opened addresses, and every step.
    func logIn(
        present: PreviousLogin? = nil,
        isUnattended: Bool = false
    ) async -> (outcome: LoginOutcome, asked: OpenedAddress?, steps: [LoginMessage]) {
        let opened = Mutex<OpenedAddress?>(nil)
        let person = ScriptedPerson(
            memory: memory,
            whenTold: { step in
                guard let address = OpenedAddress(step) else { return }
                opened.withLock { $0 = address }
                Task { try await address.redirect("code=c0de&state=\(address.state)") }
            }
        )
        let request = LoginRequest(isUnattended: isUnattended, present: present)
        let outcome = await server.logIn(request, conversation: person)
        return (outcome, opened.withLock { $0 }, person.steps)
    }

    func refresh(of server: DiscoveredServer?) async throws -> RefreshOutcome {
        await self.server.refresh(
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .refreshToken(try memory.sealing("rt", as: .refreshToken)),
                variant: .primary,
                tokenEndpoint: Self.tokenURL,
                server: server
            )
        )
    }

    /// The hosts of all requests.
    var asked: Set<String> { Set(exchange.sent.compactMap { try? EndpointURL($0.url).host }) }
    var posts: [ScriptedExchange.Sent] { exchange.sent.filter { $0.method == "POST" } }
}
