// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import OAuthClient

struct ProfileProblemTests {
    @Test func `good profiles have no problem`() throws {
        try ServerProfile.fixed().validate()
        var profile = TestIssuer.profile(secret: .file("/etc/secret"))
        profile.resources = ["https://api.example/v1", "urn:example:api"]
        profile.trust = ServerTrust(caFile: "/etc/ca.pem", pins: [Certificates.goodPin])
        try profile.validate()
    }

    /// A key, and a profile with something wrong there.
    struct Row: Sendable, CustomTestStringConvertible {
        var key: String
        var profile: ServerProfile

        init(_ key: String, _ spoil: (inout ServerProfile) -> Void) {
            self.key = key
            profile = .fixed()
            spoil(&profile)
        }

        var testDescription: String { key }
    }

    static let rows: [Row] = [
        Row("issuer") { $0.kind = .oidc(issuer: "http://id.example") },
        Row("issuer") { $0.kind = .oidc(issuer: "https://id.example?x") },
        Row("issuer") { $0.kind = .oidc(issuer: "https://me@id.example") },
        Row("issuer") { $0.kind = .oidc(issuer: "https://id.example/#") },
        Row("token_endpoint") { $0.kind = .oauth2(FixedEndpoints(token: "")) },
        Row("authorization_endpoint") {
            $0.kind = .oauth2(FixedEndpoints(token: "https://a/", authorization: "x"))
        },
        Row("device_authorization_endpoint") {
            $0.kind = .oauth2(FixedEndpoints(token: "https://a/", deviceAuthorization: "x"))
        },
        Row("revocation_endpoint") {
            $0.kind = .oauth2(FixedEndpoints(token: "https://a/", revocation: "http://a/"))
        },
        Row("client_id") { $0.clientID = "" },
        Row("client_id") { $0.clientID = "a\n" },
        Row("redirect_port") { $0.redirectPort = 65_536 },
        Row("redirect_port") { $0.redirectPort = -1 },
        Row("scopes") { $0.scopes = ["a b"] },
        Row("scopes") { $0.scopes = [""] },
        Row("scopes") { $0.scopes = ["a\""] },
        Row("resource") { $0.resources = ["api"] },
        Row("resource") { $0.resources = ["https://a/#b"] },
        Row("client_secret_command") { $0.clientSecret = .command([]) },
        Row("flow") { $0.flow = .clientCredentials },
        Row("pins") { $0.trust.pins = ["sha256/short"] },
        Row("pins") { $0.trust.pins = ["sha1/AAAA"] },
        Row("ca_file") { $0.trust.caFile = "ca.pem" },
    ]

    @Test(arguments: rows)
    func `a bad profile is told by its key`(row: Row) {
        let problem = #expect(throws: ProfileProblem.self) { try row.profile.validate() }
        #expect(problem?.key == row.key)
    }
}
