// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// IAM Identity Center with the responses of Amazon's documentation.
struct IdentityCenterBench {
    static let service = "https://oidc.eu-west-1.amazonaws.com"
    static let portal = "https://portal.sso.eu-west-1.amazonaws.com"
    static let start = "https://example.awsapps.com/start"
    static let role = "\(portal)/federation/credentials?role_name=ReadOnly&account_id=111122223333"
    static let day = Duration.seconds(86_400)

    static let device = ScriptedExchange.Answer.json(
        """
        {"deviceCode":"device-code-1","userCode":"ABCD-EFGH","expiresIn":600,"interval":1,
         "verificationUri":"https://device.sso.eu-west-1.amazonaws.com/",
         "verificationUriComplete":"https://device.sso.eu-west-1.amazonaws.com/?user_code=ABCD-EFGH"}
        """
    )

    let bench: KindBench

    init() throws {
        let center = IdentityCenter(
            startURL: Self.start,
            tokenService: IdentityCenter.tokenService(in: "eu-west-1"),
            portal: IdentityCenter.portal(in: "eu-west-1")
        )
        bench = try KindBench(
            ServerProfile(kind: .identityCenter(center), client: ClientIdentity(""), flow: .device)
        )
    }

    var exchange: ScriptedExchange { bench.exchange }

    /// Returns the response that registers a client for `life`.
    func client(_ number: Int = 1, life: Duration = day * 90) -> ScriptedExchange.Answer {
        let end = (bench.clock.wallTime + life).secondsSince1970
        return .json(
            """
            {"clientId":"client-\(number)","clientSecret":"client-secret-\(number)","clientSecretExpiresAt":\(end),
             "clientIdIssuedAt":\(bench.clock.wallTime.secondsSince1970)}
            """
        )
    }

    static func tokens(_ number: Int = 1) -> ScriptedExchange.Answer {
        .json(
            """
            {"accessToken":"access-\(number)","tokenType":"Bearer","expiresIn":3600,"refreshToken":"refresh-\(number)"}
            """
        )
    }

    static func refusal(_ code: String, status: Int = 400, _ text: String = "no") -> ScriptedExchange.Answer {
        .json(#"{"error":"\#(code)","error_description":"\#(text)"}"#, status: status)
    }

    func expect(_ path: String, _ answer: ScriptedExchange.Answer) {
        exchange.expect(Self.service + path, answer)
    }

    /// Returns the bodies of the requests to `path`.
    func bodies(to path: String) -> [JSONObject] {
        exchange.posts(to: Self.service + path).compactMap(\.json)
    }

    func logIn(_ person: ScriptedPerson? = nil) async -> LoginOutcome {
        await bench.server.logIn(
            LoginRequest(),
            conversation: person ?? ScriptedPerson(memory: bench.memory)
        )
    }

    /// Returns a bench whose login registers a client, shows its code, and then requests tokens.
    static func showingCode() throws -> IdentityCenterBench {
        let center = try IdentityCenterBench()
        center.expect("/client/register", center.client())
        center.expect("/device_authorization", device)
        return center
    }

    /// Logs in with a new client, or with the one that is there.
    func loggedIn(_ number: Int = 1, registering: Bool = true) async throws -> LoginGrant {
        if registering { expect("/client/register", client(number)) }
        expect("/device_authorization", Self.device)
        expect("/token", Self.tokens(number))
        return try #require(await logIn().granted)
    }

    /// Refreshes `grant` as the session does, at `server` or at the bench's own server.
    func refresh(_ grant: LoginGrant, at server: (any AuthorizationServer)? = nil) async -> RefreshOutcome {
        await (server ?? bench.server).refresh(
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: grant.renewal,
                variant: .primary,
                accessToken: grant.tokens.accessToken,
                tokenEndpoint: grant.tokenEndpoint,
                server: grant.server
            )
        )
    }

    func revoke(_ grant: LoginGrant, accessToken: Bool = true) async -> RevocationOutcome {
        var request = RevocationRequest(
            refreshToken: nil,
            accessToken: accessToken ? grant.tokens.accessToken : nil,
            tokenEndpoint: grant.tokenEndpoint,
            server: grant.server
        )
        if case .refreshToken(let token) = grant.renewal { request.refreshToken = token }
        return await bench.server.revoke(request)
    }
}
