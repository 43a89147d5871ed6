// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Logins at an issuer that serves many tenants, each with an issuer of its own.
struct TenantTests {
    private static let template = "https://id.example/{tenantid}/v2.0"
    private static let metadata = "https://id.example/common/metadata"

    /// The claims `iss` and `tid` of an ID token, the issuer of the key, and whether the login succeeds.
    @Test(
        arguments: [
            ("https://id.example/t-1/v2.0", "t-1", nil, true),
            ("https://id.example/t-1/v2.0", "t-1", template, true),
            ("https://id.example/t-1/v2.0", "t-1", "https://id.example/t-1/v2.0", true),
            ("https://id.example/t-1/v2.0", "t-2", nil, false),
            ("https://id.example/t-1/v2.0", nil, nil, false),
            (template, "{tenantid}", nil, false), ("https://evil.example/t-1/v2.0", "t-1", nil, false),
            // The key is for the accounts of persons, or of another tenant.
            ("https://id.example/t-1/v2.0", "t-1", "https://id.example/t-2/v2.0", false),
            ("https://id.example/t-1/v2.0", "t-1", "https://other.example/{tenantid}/v2.0", false),
        ] as [(String, String?, String?, Bool)]
    )
    func `an ID token is of the tenant that it names, by a key for it`(
        issuer: String,
        tenant: String?,
        keyIssuer: String?,
        isBelieved: Bool
    ) async throws {
        var profile = TestIssuer.profile()
        profile.kind = .oidc(issuer: Self.template, metadata: Self.metadata)
        let bench = try Bench(profile)
        let signer = try await TestIssuer()
        bench.exchange.always(
            Self.metadata,
            .json(TestIssuer.metadata(["issuer": .string(Self.template)]))
        )
        let key = TestIssuer.rsaKey(["issuer": keyIssuer.map { .string($0) } ?? .null])
        bench.exchange.always(TestIssuer.keySetURL, .json(TestIssuer.keySet([key])))
        let token = try signer.idToken([
            "iss": .string(issuer), "tid": tenant.map { .string($0) } ?? .null,
        ])
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            .json(#"{"access_token":"at","refresh_token":"rt","id_token":"\#(token)"}"#)
        )
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .password, username: "alice", secret: try bench.secret("pw", .password)),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect((outcome.granted != nil) == isBelieved, "\(outcome)")
    }
}
